"""Where every secret is, as a SARIF 2.1.0 log: what code hosts and editors show beside the code.

>>> log = sarif(g.examples, g.secrets, g.edges, g.occurrences, tool_version="0.1.0")   # doctest: +SKIP

One result is one place of a secret: an example that holds it, or the first of those that a long value fills. Text
that is left out has results too, as have places of redacted values. Nothing in the log is text of the user's: no
value, no snippet, no commit id and no hash of a content, against which guesses at a value could be tried. Names,
reasons and fingerprints come from keyed names. Paths are as they are in the repository: a value inside a file's
NAME would be shown.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.14 run, 3.27 result, 3.30 region).
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Set
from typing import Any
from urllib.parse import quote

import polars as pl

from hush_core.config.secrets import entry_of
from hush_core.secrets.priors import RANDOM_TOKEN
from hush_core.secrets.report.findings import ranked_findings, rule_of
from hush_core.secrets.report.sarif_regions import Place, Region, regions_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 100
"""Default of results a secret; the others are counted."""
MOST_IN_ALL = 25_000
"""Default of results in all: what GitHub takes of one run. Every secret's first come first."""
FINGERPRINT = "hushSecretPlace/v1"

REDACTED = "redacted."
"""Begins the rule of a place where a value was replaced."""
_PLACES = {
    "redacted_id": pl.UInt32, "name": pl.String, "kind": pl.String, "rule": pl.String, "source": pl.String,
    "path": pl.String, "line": pl.UInt32, "end_line": pl.UInt32, "nth": pl.Int64, "rank": pl.Int64,
}  # fmt: skip
_FILE = ("redacted_id", "source", "path")


def sarif(
    examples: pl.DataFrame,
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    occurrences: pl.DataFrame,
    *,
    tool_version: str,
    most: int = MOST_RESULTS,
    most_in_all: int = MOST_IN_ALL,
    replaced: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    dropped: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """The log, JSON-able; the same frames give the same log.

    A result's region is the lines on which its chunk first holds the value, or else its chunk (`sarif_regions`).
    Detected secrets are warnings; recognised copies, and random values that no name announces, are notes.

    Args:
        examples, secrets, edges, occurrences: as in `docs/reference/certificate_fields.rst`; ids dense from 0.
        most: results a secret at most, those detected first, and one in each file before a second in any;
            most_in_all: and in all, shared out evenly. What is left out is counted in the run's properties.
        replaced: the tables `redacted` and `replaced`: one note a place, behind the others, within the same limits.
        dropped: with the column `fate` (`findings.with_fate`), which the message ends with.
    """
    ranked = ranked_findings(examples, secrets, edges, occurrences, dropped)
    shown = ranked.filter(pl.col("rank") < most).sort("rank", "secret_id", "name").head(most_in_all)
    whole = shown.group_by("name").len().join(ranked.group_by("name").len(), on=["name", "len"])
    shown = shown.sort("fate", "example_id", "secret_id", "source", "path", "start", "name")
    places = _replaced(*replaced) if replaced is not None else pl.DataFrame(schema=_PLACES)
    noted = places.filter(pl.col("rank") < most).sort("rank", "redacted_id")
    noted = noted.head(most_in_all - shown.height).sort("source", "path", "line", "redacted_id")
    tagged = shown.filter(pl.col("fate") == "")
    regions = regions_of(examples, tagged, occurrences, None if replaced is None else replaced[1])
    counts = {
        "secrets": secrets.height,
        "edges": edges.height,
        "results": shown.height + noted.height,
        "mostResultsPerSecret": most,
        "mostResults": most_in_all,
        "leftOut": ranked.height - shown.height,
        "replaced": places.height,
        "replacedLeftOut": places.height - noted.height,
        "secretsCutShort": ranked["name"].n_unique() - whole.height,
    }
    return _log(
        tool_version, shown, noted, (regions, set(places.select("source", "path").iter_rows())), counts
    )


def _log(
    tool_version: str,
    shown: pl.DataFrame,
    noted: pl.DataFrame,
    where: tuple[Mapping[Place, Region], Set[tuple[str, str]]],
    counts: dict[str, int],
) -> dict[str, Any]:
    """The log of these results. where: regions by edge, and the files in which values were replaced."""
    kinds = [frame.select("rule", "kind") for frame in (shown, noted)]
    rules = dict(pl.concat(kinds).unique().sort(pl.all()).iter_rows())
    number = {rule: i for i, rule in enumerate(rules)}
    bases = _bases(pl.concat([shown["source"], noted["source"]]).unique().sort().to_list())
    driver = {
        "name": "hush",
        "version": tool_version,
        "rules": [_rule(rule, kind) for rule, kind in rules.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            base: {"description": {"text": _plain(f"the top of {source}")}} for source, base in bases.items()
        },
        "results": [
            *(_result(row, number, bases, *where) for row in shown.iter_rows(named=True)),
            *(_note(row, number, bases) for row in noted.iter_rows(named=True)),
        ],
        "properties": counts,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _replaced(redacted: pl.DataFrame, replaced: pl.DataFrame) -> pl.DataFrame:
    """Places with all that a note shows; `nth` among those of the secret in its file, `rank` among all of them.

    A line of a key that is replaced as a whole is no place of its own.
    """
    rules = [REDACTED + rule_of(kind, by) for kind, by in redacted.select("kind", "provenance").iter_rows()]
    named = redacted.select("redacted_id", "name", "kind").with_columns(
        pl.Series("rule", rules, dtype=pl.String)
    )
    return (
        replaced.join(named, on="redacted_id")
        .sort("redacted_id", "source", "path", "line", "end_line", descending=[False] * 4 + [True])
        .filter((pl.col("end_line") > pl.col("end_line").cum_max().shift().over(_FILE)).fill_null(True))
        .with_columns(nth=pl.int_range(pl.len()).over(_FILE))
        .sort("nth", "source", "path", "redacted_id")
        .with_columns(rank=pl.int_range(pl.len()).over("redacted_id"))
        .select(list(_PLACES))
        .cast(_PLACES)
    )


def _note(row: dict[str, Any], number: dict[str, int], bases: dict[str, str]) -> dict[str, Any]:
    """A place where a value was replaced, by the lines of the file as it is in the repository."""
    lines = {"startLine": row["line"], "startColumn": 1, "endLine": row["end_line"]}
    shown = row | {"level": "note", "how": "was replaced here before training", "reason": "redacted"}
    return _as_result(shown, number, bases, lines if row["line"] else None)


def _rule(rule: str, kind: str) -> dict[str, Any]:
    says = entry_of(kind).says
    text = f"{says[:1].upper()}{says[1:]} was found."
    if rule.startswith(REDACTED):
        text = f"{says[:1].upper()}{says[1:]} was here and is replaced in text that is trained on."
    return {"id": rule, "shortDescription": {"text": _plain(text)}, "properties": {"kind": kind}}


def _result(
    row: dict[str, Any],
    number: dict[str, int],
    bases: dict[str, str],
    regions: Mapping[Place, Region],
    changed: Set[tuple[str, str]],
) -> dict[str, Any]:
    """changed: (source, path) of files in which values were replaced: bytes of the examples are not theirs."""
    how = "was recognised here" if row["propagated"] else "was found here"
    level = "note" if row["propagated"] or row["rule"] == RANDOM_TOKEN else "warning"
    how += f" ({row['reason']})" + (f"; its text is {row['fate']}" if row["fate"] else "")
    chunk = {"byteOffset": row["start"], "byteLength": row["end"] - row["start"]}
    region = None if (row["source"], row["path"]) in changed else chunk
    if row["fate"] and row["line"]:
        region = {"startLine": row["line"], "startColumn": max(1, row["column"]), "endLine": row["line"]}
    elif not row["fate"]:
        region = regions.get((row["example_id"], row["secret_id"]), region)
    return _as_result(row | {"level": level, "how": how}, number, bases, region)


def _as_result(
    row: dict[str, Any], number: dict[str, int], bases: dict[str, str], region: Region | None
) -> dict[str, Any]:
    """level, how: what is said beside the name; reason: in the properties."""
    says = f"{row['name']}: {entry_of(row['kind']).says} {row['how']}."
    return {
        "ruleId": row["rule"],
        "ruleIndex": number[row["rule"]],
        "level": row["level"],
        "message": {"text": _plain(says)},
        "locations": [_location(row["source"], row["path"], bases, region)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(row)},
        "properties": {"secret": row["name"], "kind": row["kind"], "reason": row["reason"]},
    }


def _fingerprint(row: dict[str, Any]) -> str:
    """Of the secret's name (keyed if it names a value) and the file; `nth` distinguishes its chunks."""
    place = json.dumps([row["source"], row["path"]]).encode()
    return f"{hmac.new(row['name'].encode(), place, hashlib.sha256).hexdigest()[:32]}:{row['nth'] + 1}"


def _location(source: str, path: str, bases: dict[str, str], region: Region | None) -> dict[str, Any]:
    """A place under its source's base; one that could point outside of it is given by name only."""
    raw = _raw_path(path)
    if {b"", b".", b".."} & set(re.split(rb"[/\\]", raw)):
        name = f"{source}/{path}"
        return {"logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}]}
    where = {"uri": quote(raw, safe="/"), "uriBaseId": bases[source]}
    return {"physicalLocation": {"artifactLocation": where, **({"region": region} if region else {})}}


def _raw_path(shown: str) -> bytes:
    r"""The bytes of a path, as they were before `printable_path`.

    >>> _raw_path(r"caf\xe9\x0a.py"), _raw_path("é.py").decode()
    (b'caf\xe9\n.py', 'é.py')
    """
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), shown.encode())


def _bases(sources: list[str]) -> dict[str, str]:
    """Source → the symbol that represents its top; the usual one where there is one source."""
    if len(sources) == 1:
        return {sources[0]: "%SRCROOT%"}
    bases: dict[str, str] = {}
    for source in sources:
        symbol = re.sub(r"[^A-Za-z0-9.-]", "_", source)
        while f"%SRCROOT_{symbol}%" in bases.values():
            symbol += "_"
        bases[source] = f"%SRCROOT_{symbol}%"
    return bases


def _plain(text: str) -> str:
    """As SARIF's plain text: braces would be placeholders, square brackets links."""
    return re.sub(r"([\[\]\\])", r"\\\1", text.replace("{", "{{").replace("}", "}}"))
