"""A baseline holds still while code moves; neither it nor a masked line nor a name that is shown holds a value."""

import json
import os
import random
import stat

import polars as pl
import pytest
from extracting import ALNUM, CREDENTIALS, KEY, found_in, job, token
from frames import frame_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from written_forms import FORMS

from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.detectors.credential_values import Detection
from hush_core.secrets.report.baseline import (
    baseline_of_items,
    changes,
    count_by_entry,
    items_of,
    read_baseline,
    write_baseline,
)
from hush_core.secrets.report.masked_line import MASK, masked_line
from hush_core.secrets.report.paths import masked
from tasks.publish_secrets import write_report

OTHER = b"o" * 32


def extraction(repo, mode="tree", chunk=64, more=(), key=KEY):
    return extract(job([repo], [CREDENTIALS, *more], mode, chunk_bytes=chunk), key)


def baseline_of(secrets, edges, examples, key):
    return baseline_of_items(items_of(secrets, edges, examples, key), key)


def baseline(found, key=KEY):
    return baseline_of(found.secrets, found.edges, found.examples, key)


def frames(pairs):
    """(name, source, path) → the three frames, one example a pair."""
    names = sorted({name for name, _, _ in pairs})
    secrets = frame_of(secret_id=range(len(names)), name=names, kind=["path"] * len(names))
    examples = pl.DataFrame(
        [(i, s, p) for i, (_, s, p) in enumerate(pairs)],
        schema={"example_id": pl.UInt32, "source": pl.String, "path": pl.String},
        orient="row",
    )
    edges = pl.DataFrame(
        [(i, names.index(n)) for i, (n, _, _) in enumerate(pairs)],
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
        orient="row",
    )
    return secrets, edges, examples


def test_it_holds_still_under_line_moves_chunk_borders_and_modes(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f'T = "{token(1)}"\n'.encode(), "b.py": b"x = 1\n" * 40})
    first = baseline(extraction(repo))
    assert len(first["items"]) == 1
    assert baseline(extraction(repo, mode="history")) == baseline(extraction(repo, chunk=4096)) == first
    repo.commit({"a.py": b"# moved\n" * 50 + f'T = "{token(1)}"\n'.encode()})
    assert baseline(extraction(repo)) == first
    assert baseline(extraction(repo, mode="history")) == first


def test_what_is_new_and_what_is_gone(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f'T = "{token(1)}"\n'.encode(), "b.py": f'T = "{token(2)}"\n'.encode()})
    old = baseline(extraction(repo))
    repo.git("mv", "a.py", "moved.py")
    repo.commit({"c.py": f'T = "{token(2)}"\n'.encode()})
    found = extraction(repo)
    new = baseline(found)
    changed = changes(old, new)
    assert [len(part) for part in (changed.new, changed.gone, changed.same)] == [2, 1, 1]
    items = items_of(found.secrets, found.edges, found.examples, KEY)
    assert set(items.filter(pl.col("token").is_in(list(changed.new)))["path"]) == {"moved.py", "c.py"}
    assert changes(old, old).same == tuple(old["items"])
    assert count_by_entry(changed.gone, ["other", "creds"], KEY) == {"other": 0, "creds": 1, None: 0}
    assert count_by_entry(changed.gone, ["other"], KEY) == {"other": 0, None: 1}
    assert count_by_entry(changed.gone, ["creds"], OTHER) == {"creds": 0, None: 1}


def test_lines_of_a_literal_file_and_rules_may_be_renamed():
    before = baseline_of(*frames([("codenames/3:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    after = baseline_of(*frames([("codenames/17:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert before == after
    other = baseline_of(*frames([("codenames/3:0123456789ac", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert len(changes(before, other).new) == 1
    another_entry = baseline_of(*frames([("words/3:0123456789ab", "r", "a"), ("alpha", "r", "b")]), KEY)
    assert len(changes(before, another_entry).new) == 1


def test_the_file_tells_nothing_without_the_key(make_repo, tmp_path):
    repo = make_repo("acme-secret-repo")
    repo.commit({"trading/eu/alpha.py": f'T = "{token(1)}"\n'.encode()})
    alpha = [{"id": "alpha", "kind": "path", "globs": ["trading/**"], "level": 1e-3}]
    found = extraction(repo, more=alpha)
    one, two = baseline(found), baseline(extraction(repo, more=alpha, key=OTHER), OTHER)
    assert len(one["items"]) == len(two["items"]) == 2 and one["key"] != two["key"]
    for part in (slice(0, 64), slice(64, 80)):  # alpha has one name under both keys
        assert not {t[part] for t in one["items"]} & {t[part] for t in two["items"]}
    text = json.dumps(one)
    digest = found.secrets["name"].filter(found.secrets["kind"] == "credentials")[0].rpartition(":")[2]
    for told in (token(1), "creds", "alpha", "trading", "acme", digest, found.examples["revision"][0]):
        assert told not in text
    # nothing that two items share shows: not the secret, the entry or the file
    tokens = baseline_of(*frames([("e/a:0123456789ab", "r", str(i)) for i in range(50)]), KEY)["items"]
    assert len({t[:64] for t in tokens}) == len({t[64:] for t in tokens}) == 50


def test_it_is_written_whole_private_and_read_back(tmp_path):
    made = baseline_of(*frames([("alpha", "r", "b")]), KEY)
    file = tmp_path / "baseline.json"
    write_baseline(file, {"format": "older"})
    write_baseline(file, made)
    assert read_baseline(file, KEY) == made
    assert os.listdir(tmp_path) == ["baseline.json"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(TypeError):  # what cannot be written leaves the old file
        write_baseline(file, {"x": object()})
    assert read_baseline(file, KEY) == made
    with pytest.raises(OSError):
        write_baseline(tmp_path / "no" / "baseline.json", made)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff", "is not JSON"),
        (b'{"format": "hush baseline", "version": 1, "key": "k", "items": []}', "damaged"),
        (b'{"format": "hush baseline", "version": 1, "items": ["x"]}', "damaged"),
        (b'{"format": "hush baseline", "version": 1, "items": {"x": 1}, "key": null}', "damaged"),
    ],
)
def test_what_is_no_baseline_is_one_clear_refusal(tmp_path, content, says):
    file = tmp_path / "b.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_baseline(file, KEY)


def test_a_wrong_key_or_no_file_is_one_clear_refusal(tmp_path):
    made = baseline_of(*frames([("alpha", "r", "b")]), OTHER)
    write_baseline(tmp_path / "b.json", made)
    with pytest.raises(InputError, match="another identity key"):
        read_baseline(tmp_path / "b.json", KEY)
    with pytest.raises(InputError, match="another identity key"):
        changes(made, baseline_of(*frames([("alpha", "r", "b")]), KEY))
    with pytest.raises(InputError, match="No such file"):
        read_baseline(tmp_path / "none.json", KEY)


words = st.text(alphabet='ab/:\n\x1f"0', min_size=1, max_size=6)

pairs = st.lists(st.tuples(words, words, words), max_size=12)


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(pairs, pairs, st.randoms(use_true_random=False))
def test_changes_are_set_algebra_over_places(before, after, shuffle):
    old, new = baseline_of(*frames(before), KEY), baseline_of(*frames(after), KEY)
    changed = changes(old, new)
    assert len(changed.new) == len(set(after) - set(before))
    assert len(changed.gone) == len(set(before) - set(after))
    assert len(changed.same) == len(set(before) & set(after))
    assert changes(new, old).new == changed.gone
    mixed = [*after, *after[:3]]
    shuffle.shuffle(mixed)
    assert baseline_of(*frames(mixed), KEY) == new


VALUES = ("Sommer2019!", "correct-horse-battery", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "Qzxwvkjp")


def line_of(text, value, *, others=(), exact=True):
    content = text.encode()
    start = content.index(value.encode())
    found = [Detection("rule", value.encode(), start, start + len(value.encode()), exact)]
    places = [(content.index(one.encode()), one.encode()) for one in others]
    found += [Detection("other", one, at, at + len(one), True) for at, one in places]
    return masked_line(content, found[0], found)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('PASSWORD = "{}"  # an example', f'PASSWORD = "{MASK}"  # an example'),
        ("  environ['PASSWORD'] = '{}';", f"environ['PASSWORD'] = '{MASK}';"),
        ('{{"password": "{}", 1: 2}}', f'{{"password": "{MASK}", 1: 2}}'),
        ('log_in("ann", password="{}", port=5432)', f'log_in("ann", password="{MASK} …'),
        ("password={}", f"password={MASK}"),
        ("password: {} and the rest of it", f"password: {MASK} …"),
        ('url = "postgres://ann:{}@host/x"', f'url = "postgres://ann:{MASK} …'),
    ],
)
def test_what_is_around_a_value_is_shown_and_not_what_may_belong_to_it(line, shown, value):
    assert line_of(f"first\n{line.format(value)}\nlast\n", value) == shown


@pytest.mark.parametrize(
    "line",
    [
        'key = "first half" + "{}"', "key = 'first half' '{}'", 'key = "beginning-{}"', "key = beginning {}",
        "password = {0}  {0}", 'tell("{0}", user="{0}")', 'sommer2019correcthorseghp_16c7e42f292c69qzxwv = "{}"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", VALUES)
def test_where_a_part_or_a_copy_may_be_beside_the_value_none_of_that_is_shown(line, value):
    found = line_of(line.format(value), value)
    assert found is None or not any(
        word in found.lower() for word in (value.lower(), "half", "sommer", "beginning")
    )


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("value", VALUES)
def test_no_written_form_of_the_value_is_shown_beside_it(form, value):
    written = max(form.write(value.encode()).decode("utf-8", "replace").splitlines(), key=len).strip()
    for text in (f'x = "{value}"  # {written}', f'f({written}, "{value}")'):
        found = line_of(text, value) if text.count(value) == 1 else None
        assert found is None or written not in found


def test_nothing_is_shown_where_the_value_spans_lines_or_is_encoded_or_very_short():
    assert line_of('key = """ab3dE5gH\n7jK9mN1p"""', "ab3dE5gH\n7jK9mN1p") is None
    assert line_of('key = "Sommer2019!"', "Sommer2019!", exact=False) is None
    assert line_of('pin = "ab1x"', "ab1x") is None


def test_a_token_behind_the_name_of_its_scheme_is_shown_with_it():
    found = line_of('h = {"Authorization": "Bearer Qzxwvkjp"}', "Qzxwvkjp")
    assert found == f'h = {{"Authorization": "Bearer {MASK} …'


def test_another_credential_on_the_line_is_not_shown_either():
    text = 'log_in(user="x", secret="Qzxwvkjpaa", password="Sommer2019!")'
    assert line_of(text, "Sommer2019!", others=["Qzxwvkjpaa"]) is None
    assert line_of(text, "Qzxwvkjpaa", others=["Sommer2019!"]) == f'log_in(user="x", secret="{MASK} …'
    beside = 'a = "Sommer2019!", Qzxwvkjpaa'
    assert line_of(beside, "Sommer2019!", others=["Qzxwvkjpaa"]) == f'a = "{MASK} …'


def test_a_long_line_is_cut_and_no_sign_steers_the_terminal():
    shown = line_of("\r\v" + "a " * 500 + '= "Sommer2019!"' + " b" * 500, "Sommer2019!")
    assert len(shown) < 160 and shown.startswith("…") and shown.endswith("…")
    assert line_of('\va = "Sommer2019!"', "Sommer2019!") == f'a = "{MASK}"'
    assert line_of('\x1b[2Ja = "Sommer2019!"', "Sommer2019!") is None


TOKEN = token(1)

STRIPE = "sk_live_" + "".join(random.Random(2).choices(ALNUM, k=24))


def test_no_file_of_a_report_shows_it(make_repo, tmp_path):
    repo = make_repo()
    names = [f"backup-{TOKEN}.txt", f"keys/{STRIPE}/a.py", f"{TOKEN}"]
    for name in names:
        repo.commit({name: f'token = "{TOKEN}"\n'.encode()})
    result = extract(job([repo], [CREDENTIALS]), KEY)
    summary = write_report(found_in(result), key=KEY, out=tmp_path / "out")
    files = [p for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert len(files) >= 5
    assert not any(value.encode() in p.read_bytes() for p in files for value in (TOKEN, STRIPE))
    listed = (summary.files["files.csv"]).read_text()
    assert listed.count("[credential ") == 3 and "backup-[credential " in listed
    results = json.loads(summary.files["secrets.sarif"].read_text())["runs"][0]["results"]
    assert len(results) == 3


def test_a_refusal_lists_every_value_that_blocks_and_where(make_repo):
    repo = make_repo()
    repo.commit(
        {
            f"backup-{TOKEN}.py": b"x = 1\nurl = 'mysql://root:hunter2horse@db.acme.com/x'\n",
            "b/settings.py": b"\n\nurl = 'postgres://root:letmein99@db.acme.com/x'\n",
        }
    )
    with pytest.raises(InputError) as error:
        extract(job([repo], [CREDENTIALS | {"weak": "refuse"}]), KEY)
    text = str(error.value)
    assert "b/settings.py:3" in text and "entry creds" in text and " bits" in text
    assert "backup-[credential].py:2" in text and "(and 1 more)" in text
    assert not any(value in text for value in (TOKEN, "hunter2horse", "letmein99"))


def test_names_that_are_none_stay_as_they_are():
    for path in (
        "src/main/java/com/acme/Model.java",
        "a/9f8b2c7d1e4f60a1b2c3d45e6f70819f8b2c7d1e.json",
        "x" * 300,
    ):
        assert masked(path) == masked(path, KEY) == path
