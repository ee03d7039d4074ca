"""From the page's document to one HTML file, by a template that escapes all it is given.

Names of secrets, sources and warnings come from repositories and configs, and are hostile input. Whatever slips
through is not run: the page allows, by a policy of its own, its one script and its one style sheet by their hashes,
pictures that it carries, and nothing from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from flows.reports.page.document import STATES, WIDTH, Axis, PageDocument, share, state_of, verdict, worst
from hush_core.figures.names import METHOD_LABELS, short_name

PICTURES = {
    "posterior_against_target": "Prior, certified bound and target of the secrets nearest to their target",
    "posterior_curves": "The bound by prior: what an easier part of a secret risks",
    "bound_by_run": "The bound by run, alone and of all runs together",
    "exposure": "How the attack ranks each value among strings of its form",
    "audit": "What the audit found of each secret, beside its certificate",
    "texts_at_risk": "Texts that the audit could tell from others",
    "user_inference": "Whose text the model was trained on: what the audit could tell",
    "loss": "Loss on held-out text without a secret",
    "learning_curves": "Loss on public text as rounds are released",
    "noise_by_method": "The noise that each method of proof needs",
    "weights_retained": "How much of each secret's text is trained on",
    "secret_graph": "Which secrets are together in examples",
}
"""Pictures of a run that the page shows, in this order, and what each is of."""


def render(page: PageDocument, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG by name, those that PICTURES does not name are left out."""
    axis = Axis.of(page.report.rows)
    level, title, sentence = verdict(page)
    shown = [
        (name, words, "data:image/png;base64," + base64.b64encode(pictures[name]).decode())
        for name, words in PICTURES.items()
        if name in pictures
    ]
    return _environment().get_template("report.html").render(
        page=page, report=page.report, level=level, title=title, sentence=sentence,
        rows=[(row, state_of(row), share(row), axis) for row in page.report.rows],
        axis=axis, width=WIDTH, states=STATES, kinds=sorted({row.kind for row in page.report.rows}),
        worst=worst(page.report.rows), methods=METHOD_LABELS, pictures=shown,
        audited=page.audit.rows if page.audit else {},
        style=Markup(_part("report.css")), script=Markup(_part("report.js")),
        style_hash=_hash("report.css"), script_hash=_hash("report.js"),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(_part),
    )  # fmt: skip
    made.filters |= {
        "short": short_name, "number": _number, "probability": _probability, "coded": _coded,
        "percent": lambda value: "–" if value is None else f"{value:.1%}",
        "signed": lambda value: f"{value:+.3g}",
    }  # fmt: skip
    return made


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(name: str) -> str:
    """Of what is between the tags, as the policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


def _probability(value: float | None) -> str:
    """Two significant digits: as a power of ten where that is shorter to read."""
    if value is None:
        return "–"
    return f"{value:.2g}" if value >= 0.01 or value == 0 else f"{value:.1e}"


def _coded(text: str) -> Markup:
    """Escaped, with what is between backticks as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))
