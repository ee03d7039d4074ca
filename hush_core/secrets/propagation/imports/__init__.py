"""imports: what each file imports, a language a module, and who imports the protected files."""

from hush_core.secrets.propagation.imports.graph import ImportGraph, references
from hush_core.secrets.propagation.imports.reference import Reference

__all__ = ["ImportGraph", "Reference", "references"]
