"""corpus: git repositories → files and chunks, through a clean view that runs none of their configuration."""

from hush_core.corpus.chunks import chunk_ranges, overlapped
from hush_core.corpus.clean_view import CleanView
from hush_core.corpus.history import Contributors, read_contributors
from hush_core.corpus.language import language_of
from hush_core.corpus.tree import SKIP_REASONS, File, Tree, printable_path, read_tree

__all__ = [
    "SKIP_REASONS",
    "CleanView",
    "Contributors",
    "File",
    "Tree",
    "chunk_ranges",
    "language_of",
    "overlapped",
    "printable_path",
    "read_contributors",
    "read_tree",
]
