"""Pictures: PNGs of a readable size, the same bytes for the same tables, honest about what is left out."""

from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest
from legible import drawn_pages, flaws
from PIL import Image

from hush_core import figures
from hush_core.figures.canvas import drawing


def secrets(count: int) -> pl.DataFrame:
    kinds = ("path", "credentials", "literals")
    return pl.DataFrame(
        {
            "secret_id": np.arange(count, dtype=np.uint32),
            "kind": [kinds[i % 3] for i in range(count)],
            "name": [
                f"creds/betterleaks.github-pat:{i:012x}" if i % 3 else "alpha$^{x" for i in range(count)
            ],
        }
    )


def certificate(count: int) -> pl.DataFrame:
    ratio = np.linspace(0.01, 1, count)
    return pl.DataFrame(
        {
            "secret_id": np.arange(count, dtype=np.uint32),
            "prior": np.full(count, 1e-10),
            "posterior": np.full(count, 1e-4),
            "bound": ratio * 1e-4,
        }
    )


def exposed(count: int, bits: float) -> pl.DataFrame:
    names = secrets(count)["name"]
    return pl.DataFrame(
        {
            "secret_id": np.arange(count, dtype=np.uint32),
            "name": names,
            "alternatives": np.full(count, 1000, dtype=np.uint32),
            "rank": np.ones(count, dtype=np.uint32),
            "exposure_bits": np.full(count, bits),
            "extracted": np.arange(count) % 2 == 0,
            "contexts": np.ones(count, dtype=np.uint32),
        }
    )


def graph(count: int = 6, examples: int = 200) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    pairs = sorted({(7 * i % (examples // 2), i % count) for i in range(3 * count)})
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    weight = np.ones(examples)
    weight[np.unique(edges["example_id"].to_numpy())] = 0.25
    weight[-examples // 10 :] = 0  # held out
    role = np.where(weight > 0, "certified", "held_out")
    ids = np.arange(examples, dtype=np.uint32)
    return pl.DataFrame({"example_id": ids, "weight": weight, "role": role}), edges, secrets(count)


def curves(count: int) -> pl.DataFrame:
    """The run and two rehearsals."""
    rounds = np.linspace(20, 400, count).astype(np.uint32)
    parts = [
        pl.DataFrame({"run": [name] * count, "rounds": rounds, "bits": 3 + slope / (1 + rounds / 50)})
        for name, slope in (("rehearsal, rate 0.001", 2.0), ("rehearsal, rate 0.01", 1.5), (figures.RUN, 1.2))
    ]
    return pl.concat(parts)


def run_by_run(together):
    kinds = {"run": pl.UInt32, "alone": pl.Float64, "together": pl.Float64}
    rows = {"run": list(range(1, len(together) + 1)), "alone": [0.02] * len(together), "together": together}
    return pl.DataFrame(rows, schema=kinds)


def losses_by_runs(first, last):
    return pl.DataFrame({"runs": [1, 365], "loss_anew": [first, last], "loss_going_on": [first, first]})


def by_runs(first, last):
    kinds = {"runs": pl.UInt32, "anew": pl.Float64, "going_on": pl.Float64}
    return pl.DataFrame({"runs": [1, 365], "anew": [first, last], "going_on": [first, first]}, schema=kinds)


DRAWINGS = {
    "weights": lambda path: figures.weights_retained(*graph(), path),
    "weights, no example": lambda path: figures.weights_retained(*(frame.clear() for frame in graph()), path),
    "noise": lambda path: figures.noise_by_method(
        {"kl": 103.8, "renyi": 3.0, "blow_up": 2.83, "best": 2.83}, path
    ),
    "noise, one": lambda path: figures.noise_by_method({"kl": 0.5}, path),
    "noise, none": lambda path: figures.noise_by_method({"kl": None, "best": None}, path),
    "bound by run": lambda path: figures.bound_by_run(run_by_run([0.02, 0.3, 0.98]), path, promised=5),
    "bound by run, nothing promised": lambda path: figures.bound_by_run(run_by_run([0.02, None]), path),
    "loss by runs": lambda path: figures.loss_by_runs(losses_by_runs(2.1, 2.6), path, unit="byte"),
    "loss by runs, none": lambda path: figures.loss_by_runs(losses_by_runs(None, None), path, unit="byte"),
    "noise by runs": lambda path: figures.noise_by_runs(by_runs(2.5, 5.1), path),
    "noise by runs, none": lambda path: figures.noise_by_runs(by_runs(None, None), path),
    "posterior, one": lambda path: figures.posterior_against_target(certificate(1), secrets(1), path),
    "posterior": lambda path: figures.posterior_against_target(certificate(12), secrets(12), path),
    "posterior, many": lambda path: figures.posterior_against_target(certificate(300), secrets(300), path),
    "losses": lambda path: figures.losses({"pretrained": 3.2, "protected": 3.0, "unprotected": 2.7}, path),
    "losses, masked": lambda path: figures.losses({"protected": 3.0}, path, unit="masked token"),
    "learning curves": lambda path: figures.learning_curves(curves(9), path, unit="byte"),
    "learning curves, one point": lambda path: figures.learning_curves(curves(1), path, unit="byte"),
    "learning curves, none": lambda path: figures.learning_curves(curves(0), path, unit="byte"),
    "losses, none": lambda path: figures.losses({}, path),
    "exposure": lambda path: figures.exposure(exposed(9, 1.0), exposed(9, 9.9), path),
    "exposure, alone": lambda path: figures.exposure(exposed(9, 1.0), None, path),
    "exposure, partly": lambda path: figures.exposure(exposed(9, 1.0), exposed(4, 9.9), path),
    "exposure, none": lambda path: figures.exposure(exposed(0, 1.0), None, path),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_no_point_is_cut_off_and_no_words_lie_on_each_other(draw, tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    draw(tmp_path / "a.png")
    assert len(pages) == 1 and flaws(pages[0]) == []


@pytest.mark.parametrize(
    "limits, words, told",
    [
        ((0, 4), "far", "is cut off"),
        ((0, 12), "on\nall", "lies on"),
        ((0, 12), "far" * 60, "leaves the page"),
    ],
)
def test_what_cannot_be_read_would_be_seen(tmp_path, monkeypatch, limits, words, told):
    pages = drawn_pages(monkeypatch)
    with drawing(tmp_path / "a.png", height=3.0) as (axes,):
        axes.plot([1, 5, 10], [1, 2, 3])
        axes.set_xlim(*limits)
        axes.text(limits[1] / 2, 2, "near")
        axes.text(limits[1] / 2, 2 if "on" in words else 1.2, words)
    assert any(told in flaw for flaw in flaws(pages[0])), flaws(pages[0])


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
@pytest.mark.filterwarnings("error")
def test_every_picture_is_drawn_the_same_twice(draw, tmp_path, monkeypatch):
    first = draw(tmp_path / "a.png")
    assert first == tmp_path / "a.png"
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 30)  # a user's settings do not matter
    second = draw(tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    assert matplotlib.rcParams["font.size"] == 30
    with Image.open(first) as image:
        assert image.format == "PNG"
        assert 300 <= image.width <= 1200
        assert 200 <= image.height <= 2000
        assert len(image.convert("RGB").getcolors(1 << 20)) > 5


def test_a_table_in_another_order_gives_the_same_picture(tmp_path):
    a = figures.posterior_against_target(certificate(12), secrets(12), tmp_path / "a.png")
    b = figures.posterior_against_target(certificate(12).reverse(), secrets(12).reverse(), tmp_path / "b.png")
    assert a.read_bytes() == b.read_bytes()


@pytest.fixture
def drawn(monkeypatch):
    """The figures behind the pictures."""
    return drawn_pages(monkeypatch)


def test_many_secrets_show_those_nearest_to_their_target_and_say_so(tmp_path, drawn):
    figures.posterior_against_target(certificate(300), secrets(300), tmp_path / "a.png")
    (axes,) = drawn[0].axes
    assert "the 40 closest to their target, of 300" in axes.get_title(loc="left")
    bound = axes.get_lines()[1].get_xdata()
    assert len(bound) == 40
    assert bound == pytest.approx(np.sort(certificate(300)["bound"].to_numpy())[::-1][:40])


def test_retained_weight_counts_examples_in_training_only(tmp_path, drawn):
    weights, edges, table = graph()
    figures.weights_retained(weights, edges, table, tmp_path / "a.png")
    trained = 200 - 20
    assert f"{100 * weights['weight'].sum() / trained:.1f} %" in drawn[0].axes[1].get_title(loc="left")


def test_noise_is_printed_with_its_ratio_to_the_paper(tmp_path, drawn):
    figures.noise_by_method({"kl": 103.83, "blow_up": 2.83, "renyi": None}, tmp_path / "a.png")
    texts = [text.get_text().strip() for text in drawn[0].axes[0].texts]
    assert texts == ["104", "2.83   (36.7 times less)", "cannot be certified"]


def test_almost_all_is_not_shown_as_all():
    assert figures._percent(1.0) == "100 %"
    assert figures._percent(0.99999) == "under 100 %"


def test_short_names_keep_the_keyed_hash_apart():
    assert figures.short_name("creds/veles.secrets/sendgrid:475c73a403b8") == "creds/sendgrid:475c73"
    assert figures.short_name("alpha") == "alpha"


def test_nothing_is_written_where_drawing_fails(tmp_path):
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        figures.exposure(pl.DataFrame({"secret_id": [1]}), None, tmp_path / "a.png")
    assert list(Path(tmp_path).iterdir()) == []
