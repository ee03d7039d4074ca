"""Where in a file a result of the SARIF log is, in lines where they can be counted.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0 (3.30 region).
"""

import polars as pl

from hush_core.secrets.labels import lines_and_columns

Place = tuple[int, int]
"""An edge: (example_id, secret_id)."""
Region = dict[str, int]


def regions_of(
    examples: pl.DataFrame,
    shown: pl.DataFrame,
    occurrences: pl.DataFrame,
    replaced: pl.DataFrame | None = None,
) -> dict[Place, Region]:
    """A region by edge, for those whose lines can be counted; one file in memory at a time.

    If the chunk holds the value: its lines there from its first column, as the last would reveal its length.
    Otherwise the chunk: lines, columns and bytes, widened to whole characters, as both must name the same text.

    Lines can be counted if the file's text up to there is among the examples, and it is one version of a file. A
    source with one path twice is a history, whose versions cannot be distinguished. In a file with replaced values,
    lines are those of the repository; columns and bytes, which are not, are left out.

    Args:
        examples, occurrences: as in `docs/reference/certificate_fields.rst`. shown: edges with the columns
            of their example. replaced: `redaction.REPLACED`.
    """
    place = examples.select("example_id", "source", "path", "start", "end")
    histories = place.filter(pl.struct("source", "path", "start").is_duplicated())["source"].unique()
    wanted = shown.select("source", "path").unique().filter(~pl.col("source").is_in(histories.implode()))
    files = (
        place.join(wanted, on=["source", "path"], how="semi")
        .group_by("source", "path", maintain_order=True)
        .agg("example_id", "start", "end")
    )
    needed, collapsed = _spans(shown, occurrences), _collapsed(replaced)
    regions: dict[Place, Region] = {}
    for source, path, ids, starts, ends in files.iter_rows():
        known = 0
        while known < len(ids) and starts[known] == (ends[known - 1] if known else 0):
            known += 1
        data = b"".join(examples["text"].gather(ids[:known]).to_list())
        spans = []
        for example, start, end in zip(ids[:known], starts, ends, strict=False):
            for secret, value in needed.get(example, ()):
                first, last = value or (0, end - start)
                spans.append(((example, secret), start + first, start + last, value is not None))
        found = _regions(data, spans)
        if ranges := collapsed.get((source, path)):
            found = {edge: _as_in_the_repository(region, ranges) for edge, region in found.items()}
        regions.update(found)
    return regions


def _collapsed(replaced: pl.DataFrame | None) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """(source, path) → the lines [first, last] of the repository's file that are one line since; ascending.

    Two values that share a line but no byte collapse as one range would: by as many lines.
    """
    ranges: dict[tuple[str, str], list[tuple[int, int]]] = {}
    if replaced is None:
        return ranges
    rows = replaced.select("source", "path", "line", "end_line").unique().sort(pl.all())
    for source, path, first, last in rows.iter_rows():
        known = ranges.setdefault((source, path), [])
        if known and first <= known[-1][1]:
            known[-1] = (known[-1][0], max(last, known[-1][1]))
        else:
            known.append((first, last))
    return ranges


def _as_in_the_repository(region: Region, ranges: list[tuple[int, int]]) -> Region:
    """The lines of a region of the redacted file, whole, as lines of the file that was read."""
    first, last = region["startLine"], region["endLine"]
    removed = start = end = 0
    for above, below in ranges:
        start += below - above if above - removed < first else 0
        end += below - above if above - removed <= last else 0
        removed += below - above
    return {"startLine": first + start, "startColumn": 1, "endLine": last + end}


def _spans(shown: pl.DataFrame, occurrences: pl.DataFrame) -> dict[int, list[tuple[int, Place | None]]]:
    """Example → (secret, where its value first is in the example, or None)."""
    first = occurrences.sort("start", "end").unique(["example_id", "secret_id"], keep="first")
    rows = shown.select("example_id", "secret_id").join(first, on=["example_id", "secret_id"], how="left")
    spans: dict[int, list[tuple[int, Place | None]]] = {}
    for example, secret, start, end in rows.select("example_id", "secret_id", "start", "end").iter_rows():
        spans.setdefault(example, []).append((secret, None if start is None else (start, end)))
    return spans


def _regions(data: bytes, spans: list[tuple[Place, int, int, bool]]) -> dict[Place, Region]:
    """Regions of spans (edge, start, end, by lines alone) of one text; linear in its size."""
    wide = [(edge, _border(data, a, -1), _border(data, b, 1), lines) for edge, a, b, lines in spans]
    places = lines_and_columns(data, (border for _, start, end, _ in wide for border in (start, end)))
    found = {}
    for edge, a, b, lines in wide:
        found[edge] = {"startLine": places[a][0], "startColumn": places[a][1], "endLine": places[b][0]}
        if not lines:
            found[edge] |= {"endColumn": places[b][1], "byteOffset": a, "byteLength": b - a}
    return found


def _border(data: bytes, at: int, step: int) -> int:
    """The nearest border of a UTF-8 character, backwards or forwards; a character has at most 3 more bytes."""
    for _ in range(3):
        if not 0 < at < len(data) or data[at] & 0xC0 != 0x80:
            break
        at += step
    return at
