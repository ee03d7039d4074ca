"""What spreads from tagged files, and the kinds `patterns` and `rare_words`: on real repositories, end to end."""

import base64
import random
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from extracting import KEY, held, job

from hush_core.config import PathSecret
from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.detectors.base import Labels, Span
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.spreaders import seeds

job = partial(job, chunk_bytes=4096)
held = partial(held, columns=("source", "path"))
OFF = {"imports": 0, "copies": False}
RISK = """\
def hedge_ratio(book, quotes):
    weights = [row.notional * quotes[row.name].mid for row in book.rows]
    total = sum(abs(one) for one in weights) or 1.0
    drift = max(weights) - min(weights)
    if drift > 0.125 * total:
        raise ValueError("book is lopsided: rebalance before hedging")
    return drift / total + 0.0375 * len(weights) ** 0.5
"""


def prose(seed: int, lines: int = 30) -> str:
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(6 * lines)]
    return "\n".join(" ".join(words[i : i + 6]) for i in range(0, len(words), 6)) + "\n"


def alpha(**spread):
    return {"id": "alpha", "kind": "path", "globs": ["alpha/**"], "spread": {**OFF, **spread}}


def spread(result, secret=""):
    return {key: reason for key, reason in held(result, secret).items() if reason.startswith("propagated")}


def test_a_pasted_function_is_found_whatever_its_indentation(make_repo):
    repo, other = make_repo(), make_repo("other")
    indented = "".join(f"\t    {line}\n" for line in RISK.splitlines())
    edited = RISK.replace("drift", "gap").replace("0.125", "0.5")
    repo.commit(
        {
            "alpha/risk.py": (prose(1) + RISK + prose(2)).encode(),
            "tools/util.py": (prose(3) + "class X:\n" + indented + prose(4)).encode(),
            "clean.py": prose(5).encode(),
        }
    )
    other.commit({"deep/pasted.js": (prose(6) + edited.replace("    ", "  ")).encode(), "c.py": b"c\n"})
    result = extract(job([repo, other], [alpha(copies=True)]), KEY)
    expected = {("repo", "tools/util.py"), ("other", "deep/pasted.js")}
    assert spread(result) == dict.fromkeys(expected, "propagated:near_copy")
    assert result.coverage["propagation"]["copies"]["alpha"]["fingerprints"] > 100
    assert spread(extract(job([repo, other], [alpha()]), KEY)) == {}


def test_only_the_chunks_near_the_paste_are_labelled(make_repo):
    repo = make_repo()
    long = prose(3, 120) + RISK + prose(4, 120)
    repo.commit({"alpha/risk.py": RISK.encode(), "big.py": long.encode()})
    result = extract(job([repo], [alpha(copies=True)], chunk_bytes=64), KEY)
    rows = result.edges.join(result.examples, on="example_id")
    starts = [s for p, s in rows.select("path", "start").iter_rows() if p == "big.py"]
    at = long.index(RISK)
    places = result.examples.filter(pl.col("path") == "big.py").select("start", "end").rows()
    over = [s for s, e in places if s < at + len(RISK) and e > at]
    assert len(over) > 4 and set(over) <= set(starts)
    assert min(starts) > at - 400 and max(starts) < at + len(RISK) + 400


def test_versions_of_one_file_do_not_make_a_paste_common(make_repo):
    repo = make_repo()
    repo.commit({"alpha/risk.py": RISK.encode(), "moved.py": prose(3).encode()})
    for i in range(20):
        repo.commit({"tools/util.py": (RISK + prose(i)).encode()})
    result = extract(job([repo], [alpha(copies=True)], "history"), KEY)
    assert spread(result) == {("repo", "tools/util.py"): "propagated:near_copy"}
    assert len(result.edges) == 21
    assert result.coverage["propagation"]["copies"]["alpha"]["dropped_common"] == 0


def test_what_many_files_share_is_left_aside_and_counted(make_repo):
    repo = make_repo()
    header = "".join(
        f"# licence, line {i}: do as you like with this file but keep these lines\n" for i in range(8)
    )
    files = {f"f{i}.py": (header + prose(i)).encode() for i in range(20)}
    repo.commit({"alpha/risk.py": (header + RISK).encode(), **files, "alpha/tiny.py": b"x = 1\n"})
    result = extract(job([repo], [alpha(copies=True)]), KEY)
    assert spread(result) == {}
    counts = result.coverage["propagation"]["copies"]["alpha"]
    assert counts["dropped_common"] > 10 and counts["too_short"] == 1


def test_copies_of_removed_text_and_of_a_persons_lines(make_repo):
    repo = make_repo()
    pasted = "".join(f"  {line.replace(' ', '  ')}\n" for line in RISK.splitlines())  # other lines
    repo.commit({"old/risk.py": RISK.encode(), "shared.py": prose(1).encode()})
    repo.git("rm", "-q", "old/risk.py")
    repo.commit({"kept.py": (prose(2) + pasted).encode()})
    removed = {"id": "r", "kind": "removed", "paths": ["old/**"], "spread": {**OFF, "copies": True}}
    assert spread(extract(job([repo], [removed]), KEY)) == {("repo", "kept.py"): "propagated:near_copy"}
    repo.commit({"shared.py": (prose(1) + RISK).encode()}, who="q@corp.com")
    repo.commit({"elsewhere.py": (prose(8) + pasted).encode(), "prose.py": prose(1)[:900].encode()})
    person = {"id": "p", "kind": "contributors", "emails": ["q@corp.com"], "attribute": "commit"}
    found = spread(extract(job([repo], [{**person, "spread": {**OFF, "copies": True}}]), KEY))
    assert found == dict.fromkeys(
        [("repo", "kept.py"), ("repo", "elsewhere.py")], "propagated:near_copy"
    )  # and not prose.py, which copies what others wrote


def test_importers_as_deep_as_the_entry_says(make_repo):
    repo, other = make_repo(), make_repo("other")
    repo.commit(
        {
            "alpha/__init__.py": b"",
            "alpha/risk.py": RISK.encode(),
            "one.py": b"from alpha.risk import hedge_ratio\nx = 1\n",
            "two.py": b"import one\ny = 2\n",
            "three.py": b"import two\nz = 3\n",
            "said.py": b"# import alpha.risk\nw = 'import one'\n",
            b"caf\xe9.py": b"import alpha.risk  # odd bytes in a path\n",
        }
    )
    other.commit(
        {
            "vendored/risk.py": RISK.encode(),
            "app.py": b"from vendored import risk\n",
            "no.py": b"import one\n",
        }
    )

    def reached(depth):
        result = extract(job([repo, other], [alpha(imports=depth)]), KEY)
        assert ("propagated:import" in set(result.edges["reason"])) == (depth > 0)
        return {key for key, reason in spread(result).items() if reason == "propagated:import"}

    direct = {("repo", "one.py"), ("repo", "said.py"), ("repo", "caf\\xe9.py"), ("other", "app.py")}
    assert reached(0) == set()
    assert reached(1) == direct
    assert reached(2) == direct | {("repo", "two.py")}
    assert reached(3) == direct | {("repo", "two.py"), ("repo", "three.py")}


def test_the_defaults_are_direct_imports_and_copies(make_repo):
    repo = make_repo()
    repo.commit(
        {
            "alpha/risk.py": RISK.encode(),
            "one.py": b"import alpha.risk\n",
            "two.py": b"import one\n",
            "paste.py": (prose(1) + RISK).encode(),
            "mention.txt": b"see hedge_ratio\n",
        }
    )
    plain = {key: value for key, value in alpha().items() if key != "spread"}
    config = job([repo], [plain])
    assert spread(extract(config, KEY)) == {
        ("repo", "one.py"): "propagated:import",
        ("repo", "paste.py"): "propagated:near_copy",
    }
    shown = config.model_dump(mode="json")["secrets"][0]["spread"]  # part of the cache key of an extraction
    assert shown == {"imports": 1, "copies": True}


def test_what_a_spreader_added_is_no_reason_to_spread_on(make_repo):
    """A file that imports a tagged one holds its secret; what mentions names of the importer does not, nor does who
    imports it, nor what copies it. Else an entry that says `imports: 1` ends in every file."""
    repo = make_repo()
    user = b"import alpha.risk\n" + prose(8).encode() + b"\n\ndef quite_another_name(x):\n    return x\n"
    repo.commit(
        {
            "alpha/risk.py": RISK.encode(),
            "user.py": user,
            "mention.txt": b"see quite_another_name\n",
            "second.py": b"import user\n",
            "paste.py": prose(9).encode() + user[20:],
        }
    )
    secret = alpha(imports=1, copies=True)
    assert spread(extract(job([repo], [secret]), KEY)) == {("repo", "user.py"): "propagated:import"}


def test_spreaders_begin_with_what_was_detected():
    labels = LabelTable()
    labels.add(0, Labels(files=[1], blobs=[4], spans=[Span(5, 0, 9)]), "path")
    labels.add(
        0, Labels(files=[2], blobs=[6], spans=[Span(7, 0, 9)], reason="propagated:import"), "propagated"
    )
    assert labels.files_of(0, detected=True).tolist() == [1] and labels.files_of(0).tolist() == [1, 2]
    assert labels.blobs_of(0, detected=True).tolist() == [4] and labels.blobs_of(0).tolist() == [4, 6]
    assert labels.lines_of(0)[0].tolist() == [5]
    corpus = SimpleNamespace(blob=np.array([9, 4, 6]), contents=[b""] * 10)
    config = SimpleNamespace(secrets=[PathSecret(id="alpha", kind="path", globs=["a/**"], level="high")])
    (begin,) = seeds(corpus, config, [SimpleNamespace(entry=0)], labels)
    assert (begin.files.tolist(), begin.blobs.tolist()) == ([1], [4])


def test_a_public_file_that_is_reached_is_protected(make_repo):
    repo = make_repo()
    repo.commit(
        {"alpha/risk.py": RISK.encode(), "vendor/a.py": b"import alpha.risk\n", "vendor/b.py": b"b = 1\n"}
    )
    result = extract(job([repo], [alpha(imports=1)], public=["vendor/**"]), KEY)
    assert spread(result) == {("repo", "vendor/a.py"): "propagated:import"}
    assert set(result.public["path"]) == {"vendor/b.py"}


def test_what_could_not_be_followed_is_counted(make_repo):
    repo = make_repo()
    endless = b"import './a'\nimport " + b"/**/" * 4000
    repo.commit({"alpha/risk.py": b"import numpy, os\n" + RISK.encode(), "a.js": b"", "b.js": endless})
    repo.commit({"uses.py": b"import alpha.risk\n"})
    result = extract(job([repo], [alpha(imports=1)]), KEY)
    assert ("repo", "uses.py") in spread(result)
    counts = result.coverage["propagation"]["imports"]
    assert (counts["unresolved"], counts["cut"], counts["resolved"]) == (2, 1, 2)


def test_a_rare_word_that_the_plain_grid_would_cut_counts_in_both_chunks_and_stands_in_one_example(make_repo):
    repo = make_repo()
    repo.commit({"a.txt": b"1 " * 6 + b"codename " + b"2 " * 12, "b.txt": b"codenamed precodename\n"})
    secret = {"id": "w", "kind": "rare_words", "document_frequency": [2, 2], "bits": 12}
    result = extract(job([repo], [secret], chunk_bytes=16), KEY)
    rows = result.edges.join(result.examples, on="example_id").select("secret_id", "path", "start").rows()
    assert sorted(row[1:] for row in rows if row[1] == "a.txt") == [("a.txt", 10)]
    assert not {row[0] for row in rows if row[1] == "a.txt"} & {row[0] for row in rows if row[1] == "b.txt"}
    assert set(result.edges["reason"]) == {"rare_words"} and set(result.secrets["bits"]) == {12.0}
    assert re.fullmatch(r"w/[0-9a-f]{12}", result.secrets["name"][0])


def patterns_of(tmp_path, *lines):
    (tmp_path / "patterns.txt").write_text("\n".join(lines) + "\n")
    return {"id": "p", "kind": "patterns", "file": str(tmp_path / "patterns.txt"), "bits": 22}


def test_every_distinct_match_is_a_secret_and_is_sought_everywhere(make_repo, tmp_path):
    repo = make_repo()
    repo.commit(
        {
            "a.txt": b"vk-0123456789ab and vk-ca9876543210\r\nORDER-4711\r\n",
            "b.txt": b"again vk-0123456789ab\n",
            "c.txt": b"only 0123456789AB\n",
            "d.txt": base64.b64encode(b"....ca9876543210...."),
            "e.txt": b"nothing\n",
        }
    )
    secret = patterns_of(
        tmp_path, r"vault: \bvk-([0-9a-f]{12})\b", r"^ORDER-[0-9]{4,8}$", "same: 0123456789ab"
    )
    result = extract(job([repo], [secret]), KEY)
    names = sorted(result.secrets["name"])
    assert [name.partition(":")[0] for name in names] == ["p/line-2", "p/vault", "p/vault"]
    by_paths = {frozenset(path for _, path in held(result, name)) for name in names}
    assert by_paths == {
        frozenset({"a.txt", "b.txt", "c.txt"}),
        frozenset({"a.txt", "d.txt"}),
        frozenset({"a.txt"}),
    }
    reasons = {path: reason for (_, path), reason in held(result).items()}
    assert reasons["b.txt"] == reasons["c.txt"] == "patterns"
    assert reasons["d.txt"] == "propagated:base64"
    spans = result.occurrences.join(result.examples, on="example_id", suffix="_x")
    shown = {t[a:b] for t, a, b in spans.select("text", "start", "end").iter_rows()}
    assert shown == {b"0123456789ab", b"ca9876543210", b"ORDER-4711"}


def test_a_match_of_two_bytes_is_refused_at_its_place(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a.txt": b"canary canary\n"})
    with pytest.raises(InputError, match="fewer than 3 bytes") as error:
        extract(job([repo], [patterns_of(tmp_path, "ca")]), KEY)
    assert error.value.where == "repo:a.txt"
