"""Two runs on repositories that differ in one secret's values alone: nothing else that training sees differs.

End to end: git, detectors, propagation, layout, graph, held-out examples. Values differ in length.
"""

import base64
import gzip
import quopri
import textwrap
from functools import partial
from urllib.parse import quote

import numpy as np
import pytest
from extracting import CREDENTIALS, KEY, SOURCE, copied, drawn, job, named

from hush_core.secrets import extract
from hush_core.secrets.coverage import published
from hush_core.weights import assign_roles, with_role
from hush_core.weights.roles import HELD_OUT

CHUNK = 1024
LENGTHS = (36, 51, 61, 22, 90)
"""All short: twice as long in hex, each stays below a quarter of a chunk."""


job = partial(job, chunk_bytes=CHUNK)


def ids_held_out(result) -> np.ndarray:
    roles = assign_roles(result.edges, n_examples=len(result.examples), without_secret="noise", one_in=3)
    return with_role(roles, HELD_OUT)


def seen(result, which: str):
    """What a run on a candidate shares with every other: all but the texts of the examples with the secret, and
    where the secret's own bytes push examples in their files."""
    (mine,) = [i for i, kind in enumerate(result.secrets["kind"]) if kind == which]
    holding = set(result.edges.filter(result.edges["secret_id"] == mine)["example_id"].to_list())
    examples = [
        (i, s, p, None if i in holding else t)
        for i, s, p, t in result.examples.select("example_id", "source", "path", "text").iter_rows()
    ]
    held_out = ids_held_out(result)
    return {
        "coverage": published(result.coverage),
        "examples": examples,
        "public": result.public.select("path", "text").rows(),
        "edges": result.edges.select("example_id", "secret_id").rows(),
        "secrets": result.secrets.select("secret_id", "kind", "prior", "bits", "posterior").rows(),
        "held_out": [result.examples["text"][i] for i in held_out.tolist()],
    }


def encoded(value: bytes) -> dict[str, bytes]:
    """Files in which a longer value moves what is encoded behind it; each span stays of one kind (middling)."""
    before, after = SOURCE[:100].replace(b"\n", b" "), SOURCE[100:500].replace(b"\n", b" ")
    mail = b"From: a@b.example\n\nDies ist f=C3=BCr =\n" + before + b"\n"
    written = {
        "base32.txt": base64.b32encode(before + value + after[:150]),
        "twice.txt": base64.b64encode(base64.b64encode(before + value + after[:130])),
        "packed.txt": base64.b64encode(gzip.compress(before + value + after[:200], mtime=0)),
        "lines.txt": "\n".join(textwrap.wrap((before + value + after[:120]).hex(), 64)).encode(),
        "colons.txt": (before + value + after[:80]).hex(":").encode(),
        "array.c": textwrap.fill(", ".join(f"0x{c:02x}" for c in value + after[:25]), 72).encode(),
        "ascii85.ps": base64.a85encode(before + value + after[:200], adobe=True, wrapcol=70),
        "diff.patch": b"\n".join(
            b"+" + line.encode()
            for line in textwrap.wrap(base64.b64encode(before + value + after[:180]).decode(), 64)
        ),
        "url.txt": b"data=" + quote(base64.b64encode(before + value + after[:180]), safe="").encode(),
        "mail.eml": mail + quopri.encodestring(before[:70] + value + b" " + after),
    }
    return {
        path: SOURCE[:310] + b"\n\n" + text + b"\n\n" + SOURCE[300:3900] for path, text in written.items()
    }


def files(value: bytes, other: bytes) -> dict[str, bytes]:
    return copied(value, other) | encoded(value)


PATTERNS = {"id": "keys", "kind": "patterns", "bits": 25}


@pytest.fixture
def runs(make_repo, tmp_path):
    """Extractions of candidates that differ in the first secret alone."""
    (tmp_path / "names.txt").write_bytes(b"osprey-nebula\n")
    (tmp_path / "patterns.txt").write_text('api_key = "([A-Za-z0-9]+)"\n')
    names = {"id": "names", "kind": "literals", "bits": 20, "file": str(tmp_path / "names.txt")}

    def make(lengths, secret=CREDENTIALS, mode="tree", commits=1):
        results = []
        for n in lengths:
            repo = make_repo(f"r{n}-{len(results)}")
            for commit in range(commits):
                extra = {f"v{commit}.py": SOURCE[: 300 * commit]}
                value = drawn(n, commit)
                repo.commit(files(value, b"osprey-nebula" + b"!" * commit) | extra)
            if secret is PATTERNS:
                secret = PATTERNS | {"file": str(tmp_path / "patterns.txt")}
            config = job([named(repo) | {"mode": mode}], [secret, names], public=["third_party/**"])
            results.append(extract(config, KEY))
        return results

    return make


def test_a_credential_of_any_length_leaves_everything_untagged_as_it_was(runs):
    first, *others = [seen(result, "credentials") for result in runs(LENGTHS)]
    assert len(first["held_out"]) > 10 and any(text is None for *_, text in first["examples"])
    assert sum(text is not None for *_, text in first["examples"]) > 60
    for other in others:
        assert other == first


def test_versions_of_a_history_keep_their_order_whatever_their_values(runs):
    """Told by object id, which is a hash of the value, they would not: seven versions are in order by chance once
    in 5040 times."""
    results = runs((36, 61), PATTERNS, mode="history", commits=7)
    texts = []
    for result in results:
        rows = result.examples.filter(result.examples["path"] == "f.json")
        tagged = set(result.edges["example_id"].to_list())
        texts.append([t for i, t in rows.select("example_id", "text").iter_rows() if i not in tagged])
        order = [t.count(b"!") for t in rows["text"] if b"osprey" in t]
        assert order == sorted(order) and len(set(order)) == 7
    assert texts[0] == texts[1] and texts[0]


def test_counts_that_would_tell_of_a_value_are_published_without_it(runs):
    """The planted mistakes: the bytes of all text, and how many byte strings are sought."""
    results = runs((36, 61))
    one, two = (result.coverage for result in results)
    assert published(one) == published(two)
    assert "commit" in one["repositories"]["r"] and "commit" not in published(one)["repositories"]["r"]
    texts = [sum(map(len, r.examples["text"])) for r in results]
    assert texts[0] != texts[1]
    assert "propagation" in one and "propagation" not in published(one)


def test_rare_words_in_any_spelling_are_spans_of_their_own(make_repo, tmp_path):
    """A whole chunk of the plain grid in their place would move with the values of all other secrets."""
    (tmp_path / "names.txt").write_text("osprey\n")
    secrets = [
        {"id": "names", "kind": "literals", "bits": 20, "file": str(tmp_path / "names.txt")},
        {"id": "words", "kind": "rare_words", "document_frequency": [3, 7], "bits": 20},
    ]
    texts = []
    for n, name in enumerate((b"osprey", b"OSPREY" * 9)):
        repo = make_repo(f"w{n}")
        words = (b"Quetzalcoatl", "Na\u00efvet\u00e9".encode(), b"quetzalcoatl", "na\u00efVET\u00c9".encode())
        body = b"".join(b"%s %s\n" % (b"lorem ipsum " * 90, word) for word in words)
        repo.commit({"a.txt": name + b"\n" + body, "b.txt": body})
        result = extract(job([repo], secrets), KEY)
        rows = result.edges.join(result.secrets, on="secret_id").join(result.examples, on="example_id")
        words_only = rows.filter(rows["kind"] == "rare_words")
        assert words_only.height >= 8
        for text in words_only["text"]:
            assert any(word in text for word in words)
        named = set(rows.filter(rows["kind"] == "literals")["example_id"].to_list())
        texts.append(
            [t for i, t in result.examples.select("example_id", "text").iter_rows() if i not in named]
        )
    assert texts[0] == texts[1]


def test_held_out_examples_hold_no_secret_and_are_told_by_the_graph_alone(runs):
    (result,) = runs(LENGTHS[:1])
    held_out = ids_held_out(result)
    untagged = np.setdiff1d(np.arange(len(result.examples)), result.edges["example_id"].to_numpy())
    assert held_out.tolist() == untagged[::3].tolist()
