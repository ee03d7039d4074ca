"""corpus: git repositories → files and chunks, through a clean view that runs none of their configuration."""

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.chunks import Layout, chunk_ranges
from hush_core.corpus.corpus import Corpus, ReadOptions, read_corpus
from hush_core.corpus.git.blobs import SKIP_REASONS
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import Contributors, History, read_contributors, read_history
from hush_core.corpus.git.tree import File, Tree, read_tree
from hush_core.corpus.language import language_of
from hush_core.corpus.paths import Paths, match_path, printable_path
from hush_core.corpus.redacted import PLACEHOLDER, RedactedCorpus, Replacements, redacted_corpus

__all__ = [
    "PLACEHOLDER",
    "SKIP_REASONS",
    "BlobStore",
    "CleanView",
    "Contributors",
    "Corpus",
    "File",
    "History",
    "Layout",
    "Paths",
    "ReadOptions",
    "RedactedCorpus",
    "Replacements",
    "Tree",
    "chunk_ranges",
    "language_of",
    "match_path",
    "printable_path",
    "read_contributors",
    "read_corpus",
    "read_history",
    "read_tree",
    "redacted_corpus",
]
