"""The site of `make docs`: these pages in reading order, search, and the reference from the docstrings.

The source folder is the repository, so that links between README, docs and lab/docs work as they do in a clone.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

PAGES = (
    "index", "getting-started", "configuration", "secrets", "planning", "training", "retraining", "certificates",
    "mechanisms", "auditing", "running", "security", "mathematics", "architecture", "glossary",
)  # fmt: skip
"""The pages of docs/, in reading order."""
REST = ("reference/index", "../lab/docs/results/README", "../CHANGELOG", "../CONTRIBUTING")
MENU = "\n\n```{toctree}\n:hidden:\n\n" + "\n".join((*PAGES[1:], *REST)) + "\n```\n"

project = "hush"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/reference/*.rst", "lab/docs/**.md", "lab/benchmarks/**.md"]
exclude_patterns = [".*", "build", "tests", "hush*", "tasks", "flows", "deploy", "examples"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "toc.not_included"]
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
autodoc_default_options = {"exclude-members": "model_config"}
html_theme = "furo"
pygments_style = "tango"
pygments_dark_style = "monokai"
html_title = "hush"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False


def one_an_entry(obj, lines):
    """Arguments that share a line of a docstring, each on its own: `a: … b: …` and `a, b: …`."""
    try:
        names = "|".join(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return lines
    found = []
    for line in lines:
        parts = (
            re.split(rf"(?<=[.)]) (?=(?:{names})(?:, (?:{names}))*: )", line)
            if line[:4] == "    "
            else [line]
        )
        for part in [parts[0], *("    " + part for part in parts[1:])]:
            several = re.match(rf"    ((?:(?:{names}), )+)({names}): ", part)
            for name in several[1].split(", ")[:-1] if several else ():
                found.append(f"    {name}: see `{several[2]}`.")
            found.append(f"    {part[several.start(2) :]}" if several else part)
    return found


def setup(app):
    """The menu below the index, which a clone shows without it; the first page; docstrings in Google's style."""
    from sphinx.ext.napoleon import Config, GoogleDocstring  # tests read PAGES without Sphinx

    def add_menu(_, name, source):
        if name == root_doc:
            source[0] += MENU

    def sections(app, what, name, obj, options, lines):
        code = [i for i, line in enumerate(lines) if line[:4] == "    " and not lines[i - 1] and line.strip()]
        for i in reversed([i for i in code if i - 2 not in code and lines[i - 2][:4] != "    "]):
            lines[i:i] = ["::", ""]
        if what not in ("attribute", "property"):  # there a colon would end a type
            style = Config(napoleon_use_ivar=True)
            if what in ("class", "function", "method"):
                lines[:] = one_an_entry(obj, lines)
            lines[:] = GoogleDocstring("\n".join(lines), style, app, what, name, obj, options).lines()

    def without_fields(app, what, name, obj, options, signature, returns):
        from pydantic import BaseModel  # each field follows with its type

        return ("", None) if what == "class" and issubclass(obj, BaseModel) else None

    def lead_to_the_index(app, error):
        if error is None:
            page = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
            Path(app.outdir, "index.html").write_text(page, encoding="utf-8")

    app.connect("source-read", add_menu)
    app.connect("autodoc-process-docstring", sections)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("build-finished", lead_to_the_index)
