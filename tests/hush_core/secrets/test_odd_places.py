"""Values in odd places: over the edge of an example, in one another, in names, in wide or numeric form."""

import json
import random
import string

import polars as pl
import pytest
from extracting import CREDENTIALS, KEY, job, named, token

from hush_core.secrets import extract

CHUNK = 64
TOKEN = token(3)


@pytest.fixture
def names(tmp_path):
    def entry(*values: str, **keys):
        (tmp_path / "names.txt").write_text("\n".join(values) + "\n")
        file = str(tmp_path / "names.txt")
        return {"id": "names", "kind": "literals", "bits": 30, "file": file, **keys}

    return entry


def extracted(secrets, repo=None, mode="tree", tables=()):
    repos = [named(repo) | {"mode": mode}] if repo else []
    return extract(job(repos, secrets, tables=list(tables)), KEY)


def all_text(result) -> bytes:
    """Of examples and public ones: all that training is given."""
    return b"\n".join(pl.concat([result.examples, result.public])["text"])


def untagged(result) -> list[bytes]:
    held = set(result.edges["example_id"])
    return [text for n, text in result.examples.select("example_id", "text").iter_rows() if n not in held]


@pytest.mark.parametrize("length", [24, 40, 200])
@pytest.mark.parametrize(
    "written", [lambda v: v, lambda v: v.encode().hex()], ids=["as it is", "hexadecimal"]
)
def test_no_untagged_example_holds_a_part_of_a_value_wherever_it_begins(make_repo, names, length, written):
    """An edge of the plain grid is in every place of the value once; the longest fits in no example."""
    value = "".join(random.Random(length).choices(string.ascii_letters + string.digits, k=length))
    text = written(value)
    around = "the words around it go on and on, as text in a file of words does, for a while yet. "
    repo = make_repo()
    repo.commit({f"{n}.txt": f"{(2 * around)[: 40 + n]} {text} {2 * around}".encode() for n in range(CHUNK)})
    result = extracted([names(value)], repo)
    left = b"\n".join(untagged(result))
    assert left and not any(text[i : i + 6].encode() in left for i in range(len(text) - 5))


def test_an_example_with_a_value_that_holds_another_is_tagged_with_both(make_repo, names):
    repo = make_repo()
    repo.commit({"both.txt": b"see Blue Falcon Seven here\n", "inner.txt": b"see Falcon Seven here\n",
                 "none.txt": b"see Falcon here\n"})  # fmt: skip
    result = extracted([names("Blue Falcon Seven", "Falcon Seven")], repo)
    held = result.edges.join(result.examples, on="example_id").join(result.secrets, on="secret_id")
    held = held.with_columns(pl.col("name").str.split(":").list.first())
    assert set(held.select("path", "name").iter_rows()) == {
        ("both.txt", "names/1"), ("both.txt", "names/2"), ("inner.txt", "names/2"),
    }  # fmt: skip
    at = result.occurrences.join(held, on=["example_id", "secret_id"], suffix="_x")
    spans = {(text[a:b], name) for text, a, b, name in at.select("text", "start", "end", "name").iter_rows()}
    assert spans == {(b"Blue Falcon Seven", "names/1"), (b"Falcon Seven", "names/2")}


@pytest.mark.parametrize("mode", ["tree", "history"])
def test_names_of_files_commit_messages_and_authors_reach_no_example(make_repo, names, mode):
    """Nothing of them is trained on, so nothing of them is tagged: training is given `text`, which is contents."""
    repo = make_repo()
    old, new = b"the first version\n", b"the second version, which is longer\n"
    repo.commit({f"{TOKEN}/Blue Falcon.txt": old}, message=f"Blue Falcon {TOKEN}", who=f"{TOKEN}@example.org")
    repo.commit({f"{TOKEN}/Blue Falcon.txt": new}, message=f"Blue Falcon {TOKEN}", who=f"{TOKEN}@example.org")
    repo.git("tag", "-a", "-m", TOKEN, f"v-{TOKEN}")
    result = extracted([names("Blue Falcon"), CREDENTIALS], repo, mode=mode)
    versions = {"tree": {new}, "history": {old, new}}[mode]
    assert set(pl.concat([result.examples, result.public])["text"]) == versions
    assert result.edges.is_empty()


def test_a_git_file_with_wide_text_in_it_is_not_trained_on(make_repo):
    repo = make_repo()
    line = f'token = "{TOKEN}"\n'.encode()
    for charset in ("utf-16-le", "utf-16-be", "utf-32-le"):
        repo.write(
            {f"{charset}.txt": b"ASCII around\n" * 99 + f"{TOKEN}".encode(charset) + b"\nand behind\n"}
        )
    repo.commit({"plain.txt": line})
    result = extracted([CREDENTIALS], repo)
    assert all_text(result).replace(b"\n", b"") == line.strip()
    assert result.coverage["repositories"]["r"]["skipped"]["binary"] == 3


def test_wide_text_in_a_table_is_tagged(make_repo, tmp_path):
    """A row may hold NULs, as escapes: it is read, and what is wide in it is found."""
    rows = [f"token = '{TOKEN}'", "see " + TOKEN.encode("utf-16-le").decode() + " wide", "nothing in here"]
    (tmp_path / "t.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate(rows))
    )
    table = {"path": str(tmp_path / "t.jsonl"), "name": "t", "text": "text", "unit": "id"}
    result = extracted([CREDENTIALS], tables=[table])
    left = b"\n".join(untagged(result)).replace(b"\0", b"")
    assert not any(TOKEN[i : i + 6].encode() in left for i in range(4, 35))


@pytest.mark.parametrize("protect", ["noise", "redact"])
def test_a_value_as_one_integer_is_protected(make_repo, names, protect):
    number = str(int.from_bytes(TOKEN.encode(), "big"))
    repo = make_repo()
    repo.commit(
        {"a.py": f'token = "{TOKEN}"\n'.encode(), "b.py": f"n = {number}\n".encode(), "c.py": b"n = 7\n"}
    )
    result = extracted([CREDENTIALS | {"protect": protect}, names("n = 7")], repo)
    if protect == "redact":
        assert number.encode() not in all_text(result) and b"n = [REDACTED]\n" in all_text(result)
    else:
        held = result.edges.join(result.examples, on="example_id")
        assert ("b.py", "propagated:integer") in set(held.select("path", "reason").iter_rows())


def test_a_key_in_hexadecimal_as_one_integer_is_protected(make_repo, names):
    value = random.Random(9).randbytes(32).hex()
    repo = make_repo()
    repo.commit({"a.txt": f"see {value}\n".encode(), "b.py": f"d = {int(value, 16)}\n".encode()})
    result = extracted([names(value)], repo)
    assert set(result.edges.join(result.examples, on="example_id")["path"]) == {"a.txt", "b.py"}
