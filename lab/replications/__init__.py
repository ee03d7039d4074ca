"""The papers' figures and tables, computed again, and ours beside them; `hush replicate` runs them.

Reading order: claims → replication → one file a replication → catalogue → document. Pure: what is cached, and where
pages lie, is `tasks/replication.py`.
"""

from hush_core.replications.catalogue import NAMES, find_replication
from hush_core.replications.claims import MARKS, Claim, mark_of
from hush_core.replications.code_digest import code_digest
from hush_core.replications.document import check_document, document_of, index_of, page_of
from hush_core.replications.replication import Cell, Place, Replication, Size, find_data

__all__ = [
    "MARKS", "NAMES", "Cell", "Claim", "Place", "Replication", "Size", "check_document", "code_digest",
    "document_of", "find_data", "find_replication", "index_of", "mark_of", "page_of",
]  # fmt: skip
