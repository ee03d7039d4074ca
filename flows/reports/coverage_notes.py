"""What a person should look at in a coverage report, in words; the same in every report."""

from __future__ import annotations

from typing import Any

from hush_core.figures import short_name
from tasks.extraction import protects_nothing

WIDE = 0.25
"""An entry that names more of the examples than this is asked about: noise follows what is most widespread."""


def coverage_notes(coverage: dict[str, Any]) -> list[str]:
    """Entries that protect nothing or less than they say, and what was left out; no value and no path."""
    notes = []
    every = sum(facts["examples"] for facts in coverage["repositories"].values())
    for entry, facts in coverage["secrets"].items():
        dropped = facts["only_in_dropped"]
        unseen = facts["without_example"] - dropped
        if protects_nothing(facts):
            notes.append(
                f"{entry}: protects NOTHING: no example holds it. Are its names, globs or file right?"
            )
        elif unseen:
            notes.append(f"{entry}: {unseen:,} secrets stand in no example: is the name right?")
        if dropped:
            notes.append(
                f"{entry}: {dropped:,} secrets stand only in examples that were left out for a weak credential "
                "beside them (dropped.csv of `hush secrets`)"
            )
        if facts["examples"] > WIDE * every:
            asked = " (`attribute` says how much of theirs is)" if facts["kind"] == "contributors" else ""
            notes.append(
                f"{entry}: {facts['examples']:,} of {every:,} examples hold its secrets, and the noise must cover "
                f"them all; is so much of it secret{asked}?"
            )
        if facts["left_out_secrets"]:
            notes.append(
                f"{entry}: {facts['left_out_examples']:,} examples with its {facts['left_out_secrets']:,} secrets "
                "were left out, as it asks (dropped.csv of `hush secrets` says where)"
            )
        if facts["redacted_secrets"] and facts["redacted_places"]:
            notes.append(
                f"{entry}: {facts['redacted_secrets']:,} values were redacted, in {facts['redacted_places']:,} "
                "places; a copy that the search did not find is not covered"
            )
        if facts["weak_secrets"]:
            notes.append(
                f"{entry}: {facts['weak_secrets']:,} credentials too weak to protect; the "
                f"{facts['weak_examples_dropped']:,} examples with them were left out: rotate them "
                "(dropped.csv of `hush secrets` says where)"
            )
        notes += _documentation(entry, facts.get("documentation", {}))
    skipped = sum(sum(facts["skipped"].values()) for facts in coverage["repositories"].values())
    if skipped:
        notes.append(
            f"{skipped:,} files could not be scanned and were left out (skipped.csv of `hush secrets` names them)"
        )
    if cut := coverage.get("propagation", {}).get("decoded_in_part"):
        notes.append(
            f"up to {cut:,} files decode to more than is searched (16 times their size and 4 MiB, or 8 MiB "
            "unpacked): copies of values behind that are not found; leave such files out, or name them in an entry"
        )
    return notes


def _documentation(entry: str, states: dict[str, list[str]]) -> list[str]:
    """What became of the values that the config calls examples; by name, which is keyed."""
    words = {
        "left_out": "called documentation by the config, and so no secrets",
        "stands_elsewhere": "named as documentation, but standing in other files too: they stay secrets",
        "not_sought": "named as documentation, but not looked for elsewhere (a common word): they stay "
        "secrets",
        "not_found": "named as documentation, and not found: take them out of it",
    }
    return [
        f"{entry}: {len(states[state])} values {said}: {', '.join(map(short_name, states[state]))}"
        for state, said in words.items()
        if states.get(state)
    ]
