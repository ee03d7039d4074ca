"""`hush replicate`: every replication whole in its tiny size, stopped and gone on with, and what it refuses."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from company_bundle import write_bundle

from hush_core.errors import VerificationError
from lab.replications import NAMES, find_replication

TRAINED = Path(__file__).parents[3] / "lab/benchmarks/results/user_level/changelog/cells.jsonl"
pytestmark = pytest.mark.usefixtures("prefect_harness")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Made-up abstracts whose words follow Zipf's law, under the names of the real ones; a small repository; the
    models that were trained on users' data."""
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("arxiv_private_made", "arxiv_public_made")):
        rng = np.random.default_rng(seed)
        words = np.minimum(rng.zipf(1.3, (1600, 20)), 30_000)
        texts = [" ".join(f"w{chr(97 + w % 26)}{w}" for w in row) for row in words]
        pl.DataFrame({"abstract": texts}).write_parquet(folder / f"{name}.parquet")
    write_bundle(folder)
    shutil.copy(TRAINED, folder)
    return folder


MISSED = {"leakage_bounds": 0, "concentration_filter": 0, "ngram": 1}
"""Claims that are not reached in the tiny size already say the same as in the short one."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_runs_whole_and_leaves_what_follows(name, data, tmp_path):
    from lab.replications import check_document, page_of
    from lab.replications.flow import replicate

    wanted = find_replication(name).data
    report = replicate(name, "tiny", str(data) if wanted else None, str(tmp_path))
    document = json.loads((tmp_path / f"{name}.json").read_bytes())
    assert document["size"] == "tiny" and all(
        cell["rows"] or "sums" in cell["table"] for cell in document["cells"]
    )
    assert [claim["mark"] for claim in report.claims] == [claim["mark"] for claim in document["claims"]]
    assert check_document(document) == []
    missed = [claim["text"] for claim in report.claims if claim["mark"] == "not reached"]
    assert len(missed) == MISSED.get(name, len(missed)), missed
    assert (tmp_path / f"{name}.md").read_text() == page_of(document)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert f"({name}.md)" in (tmp_path / "README.md").read_text()
    assert set(document["data"]) == set(wanted)


@pytest.fixture
def counted(monkeypatch):
    """Which σ of the n-gram models were computed; `stop_at` is interrupted once."""
    replication, seen = find_replication("ngram"), []
    compute = replication.compute["leakage"]

    def watched(settings, place):
        seen.append(settings["noise_multiplier"])
        if seen[-1] == watched.stop_at:
            watched.stop_at = None
            raise KeyboardInterrupt
        return compute(settings, place)

    watched.stop_at = None
    monkeypatch.setitem(replication.compute, "leakage", watched)
    return watched, seen


def test_stopped_and_started_again_it_keeps_its_cells(counted, tmp_path, monkeypatch):
    import lab.replications.flow as flow

    watched, seen = counted
    monkeypatch.setattr(flow, "code_digest", lambda module: "0" * 64)
    first, second = (cell.settings["noise_multiplier"] for cell in find_replication("ngram").cells("tiny"))
    watched.stop_at = second
    with pytest.raises(KeyboardInterrupt):
        flow.replicate("ngram", "tiny", None, str(tmp_path))
    assert seen == [first, second] and not (tmp_path / "ngram.json").exists()
    flow.replicate("ngram", "tiny", None, str(tmp_path))
    assert seen == [first, second, second]
    before = (tmp_path / "ngram.md").read_text()
    flow.replicate("ngram", "tiny", None, str(tmp_path))
    assert seen == [first, second, second] and (tmp_path / "ngram.md").read_text() == before
    monkeypatch.setattr(flow, "code_digest", lambda module: "1" * 64)  # other code: nothing of it is reused
    flow.replicate("ngram", "tiny", None, str(tmp_path))
    assert seen == [first, second, second, first, second]


@pytest.mark.slow
def test_a_wrong_mark_in_the_folder_is_refused(tmp_path):
    from lab.replications.flow import replicate

    replicate("ngram", "tiny", None, str(tmp_path))
    path = tmp_path / "ngram.json"
    document = json.loads(path.read_bytes())
    missed = next(claim for claim in document["claims"] if claim["mark"] == "not reached")
    missed["mark"] = "reproduced"
    path.write_text(json.dumps(document))
    from lab.replications.cells import read_documents

    with pytest.raises(VerificationError, match="not reached"):
        read_documents(tmp_path)
