"""What a person should look at in a coverage report, in words; the same in every report."""

from __future__ import annotations

from typing import Any

from hush_core.config.first import WIDE
from hush_core.config.secrets import FileSecret, entry_of
from hush_core.figures import short_name
from hush_core.secrets.labels import is_propagated
from tasks.extraction import protects_nothing
from tasks.wording import counted

IMPORTED = 0.05
"""Nor are importers named, where they are more than half of an entry's examples but no more of all than this."""
WAYS = {
    "propagated:import": "in files that import one of them",
    "propagated:near_copy": "that nearly copy a passage",
    "propagated:copy": "that copy one",
}
"""How examples outside an entry's own files came to hold its secret (`secrets.spread`)."""
_ANY = (None, "redacted", "refused")
"""What a plan does with an entry's values (`in_plan`), whichever."""


def sentence(coverage: dict[str, Any]) -> str:
    """How many credentials were found in how many files, and what becomes of them."""
    read = counted(sum(one["files"] for one in coverage["repositories"].values()), "file")
    facts = [one for one in coverage["secrets"].values() if one["kind"] == "credentials"]
    keys = ("secrets", "weak_secrets", "left_out_secrets", "redacted_secrets")
    every = sum(one[key] for one in facts for key in keys)
    if not facts:
        return f"{read} read"
    if not every:
        return f"no credential found in {read}"
    left_out = "too weak to be protected (left out of training, with the text around)"
    ways = [
        f"{n:,} {words}"
        for key, plan, words in (
            ("secrets", _ANY, "can be protected"),
            ("weak_secrets", (None,), left_out),
            ("weak_secrets", ("refused",), "too weak to be protected (hush plan refuses them)"),
            ("weak_secrets", ("redacted",), "too weak for noise"),
            ("left_out_secrets", _ANY, "left out of training, as the config asks"),
            ("redacted_secrets", _ANY, "redacted"),
        )
        if (n := sum(one[key] for one in facts if one.get("in_plan") in plan))
    ]
    later = sum(one["secrets"] + one["weak_secrets"] for one in facts if one.get("in_plan") == "redacted")
    which = f"{later:,} of them" if later < every else "it" if every == 1 else "all of them"
    plan = f"; hush plan redacts {which}" if later else ""
    return f"{counted(every, 'credential')} found in {read}: {', '.join(ways)}{plan}"


def redaction(coverage: dict[str, Any]) -> str:
    """Whether the examples counted are those before or after values are replaced, which joins some."""
    entries = coverage["secrets"].values()
    if any(one["redacted_secrets"] for one in entries):
        return ", after redaction"
    later = any(one["secrets"] + one["weak_secrets"] for one in entries if one.get("in_plan") == "redacted")
    return ", before redaction" if later else ""


def coverage_notes(coverage: dict[str, Any]) -> list[str]:
    """Entries that protect nothing, too little or too much, and what is not searched; no value and no path."""
    notes = []
    every = sum(facts["examples"] for facts in coverage["repositories"].values())
    lost = leaves_out(coverage)
    for entry, facts in coverage["secrets"].items():
        notes += _of_entry(entry, facts, every, lost)
    if cut := coverage.get("propagation", {}).get("decoded_in_part"):
        notes.append(
            f"up to {cut:,} files decode to more than is searched (16 times their size and 4 MiB, or 8 MiB "
            "unpacked). Copies of values behind that are not found: leave such files out, or name them in an entry"
        )
    return notes


def as_asked(coverage: dict[str, Any]) -> list[str]:
    """What became of each entry's text, as the config asks or hush chose, and of files that are no text."""
    lines = []
    for entry, facts in coverage["secrets"].items():
        if facts["left_out_secrets"]:
            lines.append(
                f"{entry}: {counted(facts['left_out_examples'], 'example')} with its "
                f"{counted(facts['left_out_secrets'], 'secret')} left out"
            )
        if facts["redacted_secrets"] and facts["redacted_places"]:
            lines.append(
                f"{entry}: {counted(facts['redacted_secrets'], 'value')} redacted, in "
                f"{counted(facts['redacted_places'], 'place')}; a copy that the search did not find is not covered"
            )
    if skipped := sum(sum(facts["skipped"].values()) for facts in coverage["repositories"].values()):
        lines.append(
            f"{counted(skipped, 'file')} not scanned, left out (skipped.csv of `hush secrets` names them)"
        )
    return lines


def leaves_out(coverage: dict[str, Any]) -> bool:
    """Whether text is left out for a value in it: not where a plan redacts or refuses all of these."""
    entries = coverage["secrets"].values()
    return any(one["left_out_secrets"] + one["weak_secrets"] for one in entries if not one.get("in_plan"))


def _of_entry(entry: str, facts: dict[str, Any], every: int, lost: bool) -> list[str]:
    """every: examples in all. lost: whether text is left out for weak values."""
    notes, redacted = [], facts.get("in_plan") == "redacted"
    dropped, weak = facts["only_in_dropped"], counted(facts["weak_secrets"], "credential")
    unseen, where = facts["without_example"] - dropped, "(dropped.csv of `hush secrets` says where)"
    if protects_nothing(facts) and facts["kind"] == "credentials":
        notes.append("no text holds a credential that hush finds, so it protects nothing")
    elif protects_nothing(facts):
        notes.append("protects NOTHING: no example holds it. Are its names, globs or file right?")
    elif unseen:
        notes.append(f"{_that_stand(unseen)} in no example: is the name right?")
    if dropped and lost:
        notes.append(
            f"{_that_stand(dropped)} only in examples left out for a weak credential beside them "
            "(dropped.csv of `hush secrets`)"
        )
    if facts["examples"] > WIDE * every and not redacted:
        asked = " (`attribute` says how much of theirs is)" if facts["kind"] == "contributors" else ""
        notes.append(
            f"{facts['examples']:,} of {every:,} examples hold its secrets, and the noise must cover "
            f"them all; is so much of it secret{asked}?"
        )
    imported = facts.get("reasons", {}).get("propagated:import", 0)
    if imported > max(facts["examples"] / 2, IMPORTED * every):
        notes.append(
            f"{imported:,} of its {facts['examples']:,} examples are in files that only import one of "
            "its own. If using it reveals nothing of the secret, `spread: {imports: 0}` in the entry leaves "
            "them out; else name the files that are secret, not the one that all import"
        )
    if facts["weak_secrets"] and facts.get("in_plan"):
        what = "too weak for noise, which hush plan redacts" if redacted else "too weak to protect"
        notes.append(f"{weak} {what}: rotate {where}")
    elif facts["weak_secrets"]:
        around = counted(facts["weak_examples_dropped"], "example")
        notes.append(
            f"{weak} too weak to protect, and {around} left out with the text around: rotate {where}"
        )
    return [f"{entry}: {note}" for note in [*notes, *_documentation(facts.get("documentation", {}))]]


def _that_stand(secrets: int) -> str:
    return f"{counted(secrets, 'secret')} {'stands' if secrets == 1 else 'stand'}"


def ways(coverage: dict[str, Any]) -> list[str]:
    """By which way each entry of whole files came to its examples, those in other files apart; no path."""
    lines = []
    for entry, facts in coverage["secrets"].items():
        reasons = facts.get("reasons", {})
        spread = [f"{reasons[way]:,} {words}" for way, words in WAYS.items() if reasons.get(way)]
        own = sum(n for reason, n in reasons.items() if not is_propagated(reason))
        if spread and issubclass(entry_of(facts["kind"]), FileSecret):
            lines.append(f"{entry}: {counted(own, 'example')} of its own files; {', '.join(spread)}")
    return lines


def _documentation(states: dict[str, list[str]]) -> list[str]:
    """What became of the values that the config calls examples; by name, which is keyed."""
    meanings = {
        "left_out": "called documentation by the config, and so no secrets",
        "decided": "called a placeholder or public by a person, and so no secrets",
        "stands_elsewhere": "named as documentation, but other files hold them too: they stay secrets",
        "not_sought": "named as documentation, but not looked for elsewhere (a common word): they stay secrets",
        "not_found": "named as documentation, and not found: take them out of it",
    }
    return [
        f"{counted(len(states[state]), 'value')} {meaning}: "
        + ", ".join(short_name(name, 12) for name in states[state])
        for state, meaning in meanings.items()
        if states.get(state)
    ]
