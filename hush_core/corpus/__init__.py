"""corpus: git repositories → files and chunks, through a clean view that runs none of their configuration."""

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.chunks import ChunkLayout
from hush_core.corpus.corpus import Corpus, ReadOptions, read_corpus
from hush_core.corpus.git.blobs import SKIP_REASONS
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory, read_history
from hush_core.corpus.git.tree import File, Tree
from hush_core.corpus.paths import Paths, language_of, match_path, printable_path
from hush_core.corpus.redacted import PLACEHOLDER, RedactedCorpus, Replacements, redacted_corpus

__all__ = [
    "PLACEHOLDER", "SKIP_REASONS", "BlobStore", "ChunkLayout", "CleanView", "Corpus", "File", "GitHistory",
    "Paths", "ReadOptions", "RedactedCorpus", "Replacements", "Tree", "language_of", "match_path",
    "printable_path", "read_corpus", "read_history", "redacted_corpus",
]  # fmt: skip
