"""What a person should look at in a coverage report, in words; the same in every report."""

from __future__ import annotations

from typing import Any


def coverage_notes(coverage: dict[str, Any]) -> list[str]:
    """Entries that protect nothing or less than they say, and what was left out; no value and no path."""
    notes = []
    for entry, facts in coverage["secrets"].items():
        dropped = facts["only_in_dropped"]
        unseen = facts["without_example"] - dropped
        elsewhere = facts["weak_secrets"] + facts["left_out_secrets"] + facts["redacted_places"]
        if unseen == facts["secrets"] and not elsewhere:
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
    skipped = sum(sum(facts["skipped"].values()) for facts in coverage["repositories"].values())
    if skipped:
        notes.append(
            f"{skipped:,} files could not be scanned and were left out (the coverage report says why)"
        )
    if cut := coverage.get("propagation", {}).get("decoded_in_part"):
        notes.append(
            f"up to {cut:,} files decode to more than is searched (16 times their size and 4 MiB, or 8 MiB "
            "unpacked): copies of values behind that are not found; leave such files out, or name them in an entry"
        )
    return notes
