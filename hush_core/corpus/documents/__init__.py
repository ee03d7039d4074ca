"""documents: text tables → documents, each with its unit; the other kind of source beside git repositories.

>>> from pathlib import Path
>>> table = Path(__import__("tempfile").mkdtemp(), "mails.jsonl")
>>> _ = table.write_text('{"text": "hello", "customer": 7}\\n{"text": null, "customer": 8}\\n')
>>> documents = read_documents(table, unit="customer", max_bytes=1 << 20, where="demo.yaml: tables[0]")
>>> [(d.name, d.unit) for d in documents], dict(documents.skipped)
([('line-1', '7')], {'null_text': 1})
"""

from hush_core.corpus.documents.document import DOCUMENT_SKIP_REASONS, Document
from hush_core.corpus.documents.reader import Documents, Format, read_documents

__all__ = ["DOCUMENT_SKIP_REASONS", "Document", "Documents", "Format", "read_documents"]
