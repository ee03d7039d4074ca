"""The picture of the graph: drawn for every size, the same twice, and true to the tables."""

import numpy as np
import polars as pl
import pytest
from legible import drawn_pages
from PIL import Image

from hush_core import figures


def graph(count: int, kinds=("path", "credentials"), name="creds/betterleaks.github-pat:{:012x}"):
    """Secret j stands in the first 200/(j+1) examples; the last of many in none."""
    pairs = sorted((e, j) for j in range(count) for e in range(200 // (j + 1)))
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    secrets = pl.DataFrame(
        {
            "secret_id": range(count),
            "kind": [kinds[j % len(kinds)] for j in range(count)],
            "name": [name.format(j) for j in range(count)],
        },
        schema={"secret_id": pl.UInt32, "kind": pl.String, "name": pl.String},
    )
    return edges, secrets


GRAPHS = {
    "three": graph(3),
    "many": graph(500),
    "one": graph(1),
    "none": graph(0),
    "one kind": graph(30, kinds=("path",)),
    "nine kinds": graph(40, kinds=[f"k$^{{{i}" for i in range(9)]),
    "formulas": graph(14, name="al$ph_a^{{{}$"),
    "long names": graph(14, name="{:04}" + "x" * 500),
    "no edge": (graph(4)[0].clear(), graph(4)[1]),
}


@pytest.fixture
def drawn(monkeypatch):
    """The figures behind the pictures."""
    return drawn_pages(monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("tables", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.filterwarnings("error")
def test_it_is_drawn_the_same_twice_whatever_the_order(tables, tmp_path):
    edges, secrets = tables
    first = figures.secret_graph(edges, secrets, tmp_path / "a.png")
    assert first == tmp_path / "a.png"
    second = figures.secret_graph(edges.reverse(), secrets.reverse(), tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    with Image.open(first) as image:
        assert image.format == "PNG" and image.width == 960 and 400 <= image.height <= 1200


def test_marks_bars_and_shares_are_those_of_the_tables(tmp_path, drawn):
    edges, secrets = graph(500)
    figures.secret_graph(edges, secrets, tmp_path / "a.png")
    top, bottom = drawn[0].subfigs
    left, right = top.axes
    sizes = [200 // (j + 1) for j in range(500)]
    lines = [line for line in left.get_lines() if line.get_label() != "several kinds there"]
    marks = sorted((int(y) for line in lines for y in line.get_ydata()), reverse=True)
    assert marks == [n for n in sizes if n] and "300 more in no example" in left.get_xlabel()
    assert left.get_yscale() == left.get_xscale() == "log"
    told = {t.get_text() for t in left.get_legend().get_texts()}
    assert told == {"path (100)", "credentials (100)", "several kinds there"}
    (rings,) = set(left.get_lines()) - set(lines)
    hidden = {(x, y) for line in lines for x, y in zip(*line.get_data(), strict=True)}
    assert set(zip(*rings.get_data(), strict=True)) < hidden
    by_example = edges.group_by("example_id").len()["len"].to_numpy()
    widths = [int(bar.get_width()) for bar in right.patches]
    assert widths[:3] == [(by_example == 1).sum(), (by_example == 2).sum(), np.isin(by_example, (3, 4)).sum()]
    assert sum(widths) == 200
    (matrix,) = bottom.axes
    cells = [text.get_text() for text in matrix.texts]
    assert len(cells) == 144 and cells[0] == "–"
    assert cells[1] == "50" and cells[12] == "100"  # secret 2 is half of secret 1 and wholly inside it
    assert matrix.get_yticklabels()[0].get_text() == "1  creds/github-pat:000000"


def test_secrets_apart_share_nothing(tmp_path, drawn):
    edges = pl.DataFrame(
        {"example_id": [0, 1], "secret_id": [0, 1]},
        schema_overrides={"example_id": pl.UInt32, "secret_id": pl.UInt32},
    )
    figures.secret_graph(edges, graph(2)[1], tmp_path / "a.png")
    assert [t.get_text() for t in drawn[0].subfigs[1].axes[0].texts] == ["–", "·", "·", "–"]
