"""The papers' figures and tables, computed again, and ours beside them; `hush replicate` runs them.

Reading order: claims → replication → one file a replication → catalogue → document. Pure: what is cached, and where
pages lie, is `cells.py`, `flow.py` and `screen.py`, which `hush replicate` loads.
"""

from lab.replications.catalogue import NAMES, find_replication
from lab.replications.claims import MARKS, Claim, mark_of
from lab.replications.code_digest import code_digest
from lab.replications.document import check_document, document_of, index_of, page_of
from lab.replications.replication import Cell, Place, Replication, Size, find_data

__all__ = [
    "MARKS", "NAMES", "Cell", "Claim", "Place", "Replication", "Size", "check_document", "code_digest",
    "document_of", "find_data", "find_replication", "index_of", "mark_of", "page_of",
]  # fmt: skip
