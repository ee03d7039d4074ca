"""No value stands in the masked line of `hush secrets --review`, and none in a name that is shown."""

import json
import random

import pytest
from extracting import ALNUM, CREDENTIALS, KEY, job, token
from written_forms import FORMS

from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.detectors.credential_values import Detection
from hush_core.secrets.report.masked_line import MASK, masked_line
from hush_core.secrets.report.paths import masked
from tasks.publish_secrets import write_report

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
    summary = write_report(
        examples=result.examples, secrets=result.secrets, edges=result.edges, occurrences=result.occurrences,
        dropped=result.dropped, coverage=result.coverage, key=KEY, out=tmp_path / "out",
    )  # fmt: skip
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
