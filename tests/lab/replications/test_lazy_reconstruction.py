"""Figure 5 and table 1 of reconstruction_rdp.txt: parts of a repository, intervals over files, lazy sampling."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from company_bundle import write_bundle

from hush_core.auditing.lazy_sampling import Sampling, emission
from hush_core.errors import InputError
from hush_core.training import fit_plain
from lab.replications import lazy_reconstruction as lazy
from lab.replications.measured_lines import CONTEXT, END, TOP_K, write_lines
from lab.replications.noisy_rounds import small_model
from lab.replications.replication import Cell, Place
from lab.replications.repository_lines import three_parts


@pytest.mark.slow
def test_parts_hold_whole_files_and_about_as_many_lines(tmp_path):
    bundle = write_bundle(tmp_path)
    parts = three_parts(bundle, tmp_path / "work", 5)
    files = [{path for path, _ in part} for part in parts]
    assert not files[0] & files[1] and not files[0] & files[2] and not files[1] & files[2]
    lengths = [len(part) for part in parts]
    assert sum(map(len, files)) == 120 and min(lengths) > 0.8 * max(lengths)
    assert not any(path.endswith((".png", ".lock")) for path in set().union(*files))
    assert all(line and line == line.strip() for part in parts for _, line in part)
    assert three_parts(bundle, tmp_path / "work", 5) == parts != three_parts(bundle, tmp_path / "work", 6)
    (tmp_path / "empty.bundle").write_bytes(b"")
    with pytest.raises(InputError):
        three_parts(tmp_path / "empty.bundle", tmp_path / "work", 5)


def test_lines_of_one_file_make_no_interval_narrower():
    values, files = np.array([0.0, 2.0, 4.0]), np.array(["a", "b", "c"])
    mean, error, count = lazy.by_file(values, files)
    assert (mean, count) == (2.0, 3) and error == pytest.approx(values.std(ddof=1) / math.sqrt(3))
    assert lazy.by_file(np.repeat(values, 10), np.repeat(files, 10)) == pytest.approx((mean, error, count))
    assert lazy.by_file(np.repeat(values, 10), np.arange(30).astype(str))[1] < error / 2


def test_lines_are_written_as_often_as_their_probability_says():
    lines = [b"ab" + END, b"ac" + END, b"b" * CONTEXT]
    model = small_model(1, 32, CONTEXT, seed=0)
    fit_plain(lines, model, steps=60, batch=8, rates=np.array([1.0, 1.0, 0.5]), learning_rate=1e-2)
    model.network.eval()
    log_p = emission(model, [(b"", line, b"") for line in lines], [Sampling(top_k=TOP_K)])[:, 0]
    drawn = write_lines(model, 600, seed=1)
    assert write_lines(model, 20, seed=1) == write_lines(model, 20, seed=1) != write_lines(model, 20, seed=2)
    counts, shares = Counter(drawn), np.exp(log_p)
    assert shares.sum() > 0.5 and max(map(len, drawn)) <= CONTEXT
    for line, share in zip(lines, shares, strict=True):
        spread = math.sqrt(600 * share * (1 - share))
        assert abs(counts[line] - 600 * share) < 4 * spread + 1, line


def measured(log10_p, nats, group="train"):
    lines = [f"{group} {n}\n".encode() for n in range(len(nats))]
    files = [str(n) for n in range(len(nats))]
    columns = {"group": [group] * len(nats), "file": files, "line": lines, "log10_probability": log10_p,
               "calibrated_nats": nats}  # fmt: skip
    return pl.DataFrame(
        columns, schema_overrides={"log10_probability": pl.Float64, "calibrated_nats": pl.Float64}
    )


@pytest.fixture
def rows(monkeypatch, tmp_path):
    """Rows of the tables by the paper's own table 1 and of two more groups; or of others."""
    train = measured([-2.5, -3.5, -3.6, -10.0, -21.0, -math.inf], [0.10, -0.18, -9.81, -11.3, 1.29, -40.0])
    test, written = (
        measured([-5.0] * 3, [-1.0, 0.0, 1.0], "test"),
        measured([-2.0] * 3, [-9.0] * 3, "written"),
    )

    def of(*tables):
        monkeypatch.setattr(lazy, "measured_lines", lambda settings, place: pl.concat(tables))
        settings, place = {"seed": 1, "shown": 10, "steps": 5}, Place({}, tmp_path)
        cells = (Cell(name, settings) for name in lazy.REPLICATION.compute if name != "models")
        return {cell.table: lazy.REPLICATION.rows_of(cell, place) for cell in cells}

    of.train, of.test, of.written = train, test, written
    return of


def test_the_papers_own_lines_are_of_their_sorts(rows):
    found = rows(rows.train, rows.test, rows.written)
    assert [(row["sort"], row["found"]) for row in found["sorts"]] == [
        ("common", 2), ("at risk", 1), ("by heart, and unlikely", 2), ("neither", 1),
    ]  # fmt: skip
    assert found["sorts"][0]["line"] == "`train 0`" and found["sorts"][2]["log10_probability"] == -10.0
    assert all(math.isfinite(row["log10_probability"]) for row in found["points"])
    marks = {claim.text: claim for claim in lazy.claims(found)}
    assert [claim.mark for text, claim in marks.items() if "table 1" in text] == ["reproduced"] * 4
    none = rows(measured([-5.0] * 3, [-3.0, -4.0, -5.0]), rows.test, rows.written)
    assert [c.mark for c in lazy.claims(none) if "table 1" in c.text] == ["not reached"] * 4


def test_what_is_not_lower_is_not_said_to_be(rows):
    low = measured([-5.0] * 3, [-8.0, -9.0, -10.0])
    lower = measured([-2.0] * 3, [-19.0, -20.0, -21.0], "written")
    by_heart, *_ = found = lazy.claims(rows(low, rows.test, lower))[:5]
    assert [c.mark for c in found] == [*["reproduced"] * 4, "not reached"]
    assert by_heart.ours == pytest.approx(9.0 - 4.303 * math.sqrt(2 / 3), abs=1e-3)
    alike = lazy.claims(
        rows(measured([-5.0] * 3, [-1.0, 0.0, 1.0]), rows.test, measured([-2.0] * 3, [0.5] * 3, "written"))
    )
    reached = [c.mark == "reproduced" for c in alike[:5]]
    assert reached == [False, False, True, False, True] and alike[0].mark == "not reached"
    assert alike[1].ours is None


def test_what_came_out_is_held_against_the_probabilities_of_different_lines(rows):
    twice = pl.concat([measured([-1.0, -2.0], [0.0, 0.0])] * 2)
    out = pl.concat([measured([-1.0], [0.0])] * 11 + [measured([-3.0] * 89, [0.0] * 89, "x")])
    out = out.with_columns(group=pl.lit("written"))
    found = rows(twice, rows.test, out)
    (drawn,) = found["sampling"]
    assert (drawn["written"], drawn["came_out"], drawn["different"]) == (100, 11, 2)
    assert drawn["foretold"] == pytest.approx(11.0)
    assert lazy.claims(found)[-1].mark == "reproduced"
    off = {**found, "sampling": [{**drawn, "came_out": 14}]}
    assert lazy.claims(off)[-1].mark == "not reached"
