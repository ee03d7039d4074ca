"""The digest of a replication's code: another number-making line makes another one, and no other line does."""

import importlib
import sys
from pathlib import Path

import polars as pl
import pytest

from lab.replications import Place, code_digest, find_data, find_replication

digests = importlib.import_module("lab.replications.code_digest")

BEGIN = """
from hush_core import figures
from hush_core.tools import Model, scaled
from lab.replications.claims import Claim
SIZES = {"short": 1}
def cells(size):
    return SIZES[size]
def noise(settings, place):
    return scaled(settings) * Model().rate
def _shown(rows):
    return rows
def claims(rows):
    return Claim(_shown(rows))
def draw(rows, path):
    return figures.draw(rows)
REPLICATION = dict(compute={"noise": noise}, claims=claims)
"""
FILES = {
    "__init__": "",
    "lab/__init__": "",
    "replications/__init__": "",
    "replications/claims": "Claim = 1\n",
    "replications/a": BEGIN,
    "figures": "def draw(rows):\n    return 1\n",
    "tools/__init__": "from hush_core.tools.model import Model\nfrom hush_core.tools.scale import scaled, other\n",
    "tools/model": "import math\nfrom hush_core.limits import RATE, MOST\n"
    "class Model:\n    def __init__(self):\n        from hush_core.late import turned\n"
    "        self.rate = turned(RATE) + math.pi\ndef unused():\n    return MOST\n",
    "tools/scale": "FACTOR = 2\nUNUSED = 3\ndef scaled(x, by=FACTOR):\n    return _own(x) * by\n"
    "def _own(x):\n    return x\ndef other():\n    return UNUSED\n",
    "limits": "import sys\nRATE = 1\nMOST = 2\n",
    "late": "def turned(x):\n    return -x\n",
    "elsewhere": "x = 1\n",
}

OURS = tuple(str(folder) for folder in digests._ROOTS.values())


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a made-up hush_core and lab, one file changed; its digest."""
    monkeypatch.setattr(digests, "_ROOTS", {name: tmp_path / name for name in ("hush_core", "lab")})

    def write(name="__init__", before="", after=""):
        for each, text in FILES.items():
            room = "lab" if each.startswith("replications") else "" if each.startswith("lab") else "hush_core"
            path = tmp_path / room / f"{each}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            if each == name:
                assert before in text
                text = text.replace(before, after) if before else after + text
            path.write_text(text)
        return code_digest("lab.replications.a")

    return write


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("replications/a", "SIZES[size]", "SIZES[size] + 1"),
        ("replications/a", '"short": 1', '"short": 2'),
        ("replications/a", "Model().rate", "Model().rate + 1"),
        ("replications/a", '{"noise": noise}', '{"noise": _shown}'),
        ("replications/a", "hush_core.tools import Model, scaled",
         "hush_core.tools import Model, other as scaled"),
        ("tools/__init__", "scaled, other", "other as scaled"),
        ("tools/model", "turned(RATE)", "RATE"),
        ("tools/model", "import math", "import cmath as math"),
        ("tools/scale", "FACTOR = 2", "FACTOR = 4"),
        ("tools/scale", "return x\n", "return x + 1\n"),
        ("tools/scale", "UNUSED = 3", "UNUSED = 3\nFACTOR += 1"),
        ("tools/scale", "UNUSED = 3", "UNUSED = 3\nif UNUSED:\n    FACTOR = 5"),
        ("tools/scale", "UNUSED = 3", "UNUSED = 3\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    FACTOR = 5"),
        ("limits", "RATE = 1", "RATE = 3"),
        ("limits", "MOST = 2", "MOST = 2\nsys.setrecursionlimit(9)"),  # acts on all that is loaded with it
        ("limits", "MOST = 2", "MOST = 2\nsys.rate = 9"),
        ("tools/__init__", "", "import sys\nsys.rate = 9\n"),
        ("limits", "MOST = 2", "MOST = 2\ndef keep(f):\n    return f\n@keep\ndef one():\n    return 1\n"),
        ("late", "-x", "x"),
    ],
)  # fmt: skip
def test_a_change_of_what_makes_a_number_is_another_digest(written, name, before, after):
    assert written(name, before, after) != written()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("replications/a", "Claim(_shown(rows))", "Claim(rows, 2)"),
        ("replications/a", "    return rows\n", "    return rows[0]\n"),
        ("replications/a", "figures.draw(rows)", "figures.draw(rows, 2)"),
        ("replications/a", "claims=claims", "claims=claims, title='Another'"),
        ("replications/a", "def cells(size):", '# a remark\ndef cells(\n    size\n):\n    """Said."""'),
        ("replications/claims", "Claim = 1", "Claim = 2"),
        ("figures", "return 1", "return 2"),
        ("tools/model", "return MOST", "return -MOST"),
        ("tools/scale", "return UNUSED", "return 1 + UNUSED"),
        ("tools/scale", "UNUSED = 3", "UNUSED = 9"),
        ("limits", "MOST = 2", "MOST = 5"),
        (
            "limits",
            "MOST = 2",
            "MOST = 2\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import re",
        ),
        ("late", "def turned", '"""What this is."""\ndef turned'),
        ("elsewhere", "x = 1", "x = 2"),
    ],
)
def test_a_change_of_anything_else_is_the_same_digest(written, name, before, after):
    assert written(name, before, after) == written()


def test_a_module_that_is_handed_on_or_looks_names_up_counts_whole(written, monkeypatch):
    handed_on = BEGIN.replace("scaled(settings)", "list(map(str, [limits]))")
    monkeypatch.setitem(FILES, "replications/a", "from hush_core import limits\n" + handed_on)
    assert written("limits", "MOST = 2", "MOST = 5") != written()
    monkeypatch.setitem(FILES, "replications/a", BEGIN)
    monkeypatch.setitem(FILES, "late", "ONE = 1\ndef turned(x):\n    return globals()['ONE']\n")
    assert written("late", "ONE = 1", "ONE = 2") != written()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ngram", "canary_secrecy", "one_shot"])
def test_no_function_runs_that_the_digest_leaves_out(name, tmp_path):
    """Of hush_core and lab, while the rows of the tiny size are made."""
    for file in ("arxiv_public", "arxiv_private"):
        texts = [f"Abstract {i} says what {i * i} is and {i % 7} is not." for i in range(200)]
        pl.DataFrame({"abstract": texts}).write_parquet(tmp_path / f"{file}.parquet")
    replication = find_replication(name)
    data = find_data(tmp_path if replication.data else None, replication.data)
    ran: set[tuple[str, int]] = set()

    def watch(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and code.co_name != "<module>":
            ran.add((code.co_filename, code.co_firstlineno))

    place = Place(data, tmp_path)
    sys.setprofile(watch)
    try:
        for cell in replication.cells("tiny"):
            replication.compute[cell.table](cell.settings, place)
    finally:
        sys.setprofile(None)
    spans = digests.Reach(f"lab.replications.{name}").spans()
    counted = {str(file): lines for file, lines in spans.items()}
    missing = [one for one in ran if not any(a <= one[1] <= b for a, b in counted.get(one[0], ()))]
    assert len(ran) > 50 and missing == []
    whole = sum(len(Path(file).read_text().splitlines()) for file in counted)
    assert sum(b - a + 1 for lines in spans.values() for a, b in lines) < whole  # and not all is counted
