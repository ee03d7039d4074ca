"""The SARIF log of real extractions: valid by hand, true of the files it names, and without a value."""

import base64
import json
import random
from itertools import pairwise
from urllib.parse import unquote_to_bytes, urljoin

import polars as pl
import pytest
from extracting import CREDENTIALS, KEY, job, token
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus import printable_path
from hush_core.secrets import extract
from hush_core.secrets.graph import EDGES, EXAMPLES, OCCURRENCES, SECRETS
from hush_core.secrets.report.baseline import items_of
from hush_core.secrets.report.findings import with_fate
from hush_core.secrets.report.sarif import FINGERPRINT, _raw_path, sarif
from hush_core.secrets.report.tables import dropped_table, files_table

PATH = {"id": "alpha", "kind": "path", "globs": ["secret/**"]}


def extraction(repos, secrets, mode="tree"):
    return extract(job(repos, secrets, mode), KEY)


def log_of(found, **options):
    return sarif(
        found.examples, found.secrets, found.edges, found.occurrences, tool_version="1.2.3", **options
    )


def dropped_of(found):
    return with_fate(found.dropped, found.coverage["secrets"])


def place(result):
    return result["locations"][0]["physicalLocation"]


LINES, BYTES = {"startLine", "startColumn", "endLine"}, {"byteOffset", "byteLength"}


def check_form(log):
    """What the standard requires of every property that is used here."""
    assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "hush" and isinstance(driver["version"], str)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids)) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for result in run["results"]:
        assert result["message"]["text"] and result["level"] in ("none", "note", "warning", "error")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
        (location,) = result["locations"]
        if "physicalLocation" not in location:
            assert location["logicalLocations"][0]["fullyQualifiedName"]
            continue
        artifact, region = place(result)["artifactLocation"], place(result)["region"]
        assert artifact["uriBaseId"] in run["originalUriBaseIds"]
        assert (
            artifact["uri"].isascii() and not artifact["uri"].startswith("/") and " " not in artifact["uri"]
        )
        assert urljoin("file:///top/", artifact["uri"]).startswith("file:///top/")
        assert set(region) in (LINES, LINES | {"startColumn", "endColumn"} | BYTES, BYTES)
        assert region.get("byteOffset", 0) >= 0 and region.get("byteLength", 0) >= 0
        assert all(region[k] >= 1 for k in region if k.endswith(("Line", "Column")))
    json.dumps(log, allow_nan=False)


def span_of(text: str, region) -> bytes:
    """The bytes that lines and columns name."""
    lines = text.split("\n")

    def offset(line, column):
        assert column <= len(lines[line - 1]) + 1
        return len("\n".join([*lines[: line - 1], lines[line - 1][: column - 1]]).encode())

    return text.encode()[
        offset(region["startLine"], region["startColumn"]) : offset(region["endLine"], region["endColumn"])
    ]


def test_every_edge_is_a_result_at_its_place(make_repo):
    one, two = make_repo("one"), make_repo("two")
    texts = {
        "secret/é ü#%?.py": "naïve = 'ä€😀'\r\n" * 30,
        "deep/a:b.py": "# " + "x" * 100 + f'\nT = "{token()}"\n' + "y\n" * 50,
    }
    one.commit({name: text.encode() for name, text in texts.items()})
    two.commit({"copy.log": f"again {token()}\n".encode()})
    found = extraction([one, two], [CREDENTIALS, PATH])
    log = log_of(found)
    check_form(log)
    (run,) = log["runs"]
    assert len(run["results"]) == found.edges.height == run["properties"]["results"]
    assert run["properties"]["leftOut"] == run["properties"]["secretsCutShort"] == 0
    edges = found.edges.join(found.examples, on="example_id").join(found.secrets, on="secret_id")
    lined = 0
    for result, row in zip(run["results"], edges.iter_rows(named=True), strict=True):
        artifact, region = place(result)["artifactLocation"], place(result)["region"]
        assert artifact["uriBaseId"] == f"%SRCROOT_{row['source']}%"
        path = unquote_to_bytes(artifact["uri"]).decode()
        assert path == row["path"]
        assert row["name"] in result["message"]["text"] and row["reason"] in result["message"]["text"]
        if token().encode() in row["text"]:  # the line on which the value stands, not the chunk
            lined += 1
            text = texts.get(path, f"again {token()}\n").split("\n")
            assert set(region) == LINES and region["startLine"] == region["endLine"]
            assert text[region["startLine"] - 1][region["startColumn"] - 1 :].startswith(token())
            continue
        a, b = region["byteOffset"], region["byteOffset"] + region["byteLength"]
        assert row["start"] - 3 <= a <= row["start"] and row["end"] <= b <= row["end"] + 3
        if path in texts:
            assert span_of(texts[path], region) == texts[path].encode()[a:b]
    assert lined
    rules = {r["ruleId"]: r for r in run["results"]}
    assert set(rules) == {"betterleaks.github-pat", "path"}
    assert rules["path"]["level"] == "warning"


def test_recognised_copies_and_random_values_without_a_telling_name_are_notes(make_repo):
    repo, value = make_repo(), "qZ7xT0vLw3Kd9RbYpN5sUe2HcJmA8GfX"
    repo.commit(
        {
            "a.py": f'T = "{token()}"\n'.encode(),
            "b.txt": token().encode().hex().encode(),
            "c.py": f'x = "{value}"\n'.encode(),
            "d.py": f'api_key = "{value[7:]}n4J8"\n'.encode(),
        }
    )
    levels = {
        place(r)["artifactLocation"]["uri"]: r["level"]
        for r in log_of(extraction([repo], [CREDENTIALS]))["runs"][0]["results"]
    }
    assert levels == {"a.py": "warning", "b.txt": "note", "c.py": "note", "d.py": "warning"}


def test_fingerprints_stay_while_lines_move_and_tell_chunks_apart(make_repo):
    repo = make_repo()
    repo.commit({"secret/a.py": b"x = 1\n" * 30, "b.py": f'T = "{token()}"\n'.encode()})

    def prints():
        results = log_of(extraction([repo], [CREDENTIALS, PATH]))["runs"][0]["results"]
        return [r["partialFingerprints"][FINGERPRINT] for r in results]

    before = prints()
    assert len(set(before)) == len(before) == 4
    repo.commit(
        {"secret/a.py": b"y = 1\n" + b"x = 1\n" * 29, "b.py": b"\n\n" + f'T = "{token()}"\n'.encode()}
    )
    assert prints() == before
    repo.git("mv", "b.py", "c.py")
    repo.commit()
    assert len(set(before) & set(prints())) == 3


def test_what_is_left_out_is_counted_and_the_detected_come_first(make_repo):
    repo = make_repo()
    files = {f"secret/{i}.py": b"x = %d\n" % i for i in range(20)}
    files |= {f"0{i}.txt": token().encode().hex().encode() for i in range(5)}
    repo.commit({**files, "z.py": f'T = "{token()}"\n'.encode()})
    found = extraction([repo], [CREDENTIALS, PATH])
    log = log_of(found, most=3)
    check_form(log)
    (run,) = log["runs"]
    counts = run["properties"]
    assert counts["results"] == len(run["results"]) == 6 and counts["mostResultsPerSecret"] == 3
    findings = len(files) + 1  # the copies in hexadecimal fill two chunks each
    assert counts["leftOut"] == findings - 6 < found.edges.height - 6 and counts["secretsCutShort"] == 2
    assert "z.py" in {place(r)["artifactLocation"]["uri"] for r in run["results"]}
    assert log_of(found, most=0)["runs"][0]["results"] == []
    (few,) = log_of(found, most_in_all=3)["runs"]
    by_rule = sorted(r["ruleId"] for r in few["results"])
    assert by_rule == ["betterleaks.github-pat", "betterleaks.github-pat", "path"]  # shared out evenly
    assert few["properties"]["leftOut"] == findings - 3


def test_no_file_is_left_out_for_the_many_places_in_another(make_repo):
    repo = make_repo()
    repo.commit({"secret/a.py": b"x = 1\n" * 200, "secret/b.py": b"y = 2\n", "secret/c.py": b"z = 3\n" * 40})
    (run,) = log_of(extraction([repo], [PATH]), most=4)["runs"]
    places = [place(r)["artifactLocation"]["uri"] for r in run["results"]]
    assert sorted(places) == ["secret/a.py", "secret/a.py", "secret/b.py", "secret/c.py"]


def test_versions_of_a_history_have_bytes_only(make_repo):
    repo = make_repo()
    repo.commit({"secret/a.py": b"x = 1\n" * 30})
    repo.commit({"secret/a.py": b"y\n" + b"x = 1\n" * 30})
    found = extraction([repo], [PATH], "history")
    log = log_of(found)
    check_form(log)
    regions = [place(r)["region"] for r in log["runs"][0]["results"]]
    assert len(regions) == 6 and all(set(r) == {"byteOffset", "byteLength"} for r in regions)


def private_key(seed: int) -> str:
    key = base64.b64encode(b"\x30\x82\x04\xa4\x02\x01\x00" + random.Random(seed).randbytes(2300)).decode()
    body = "\n".join(key[i : i + 64] for i in range(0, len(key), 64))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"


@pytest.mark.parametrize("protect", ["noise", "drop"])
def test_a_key_that_fills_many_examples_is_one_result_at_its_first_line(make_repo, protect):
    repo = make_repo()
    repo.commit({"deploy/key.pem": b"# the old one\n" * 9 + private_key(7).encode()})
    found = extraction([repo], [{**CREDENTIALS, "protect": protect}])
    dropped = dropped_of(found)
    assert max(found.edges.height, dropped.height) > 40, "the key is in many examples"
    log = log_of(found, dropped=dropped)
    check_form(log)
    (result,) = log["runs"][0]["results"]
    assert place(result)["region"]["startLine"] == 10 and result["ruleId"] == "betterleaks.private-key"
    items = items_of(found.secrets, found.edges, found.examples, KEY, dropped)
    tables = files_table(items, found.edges, found.examples, found.occurrences), dropped_table(items, dropped)
    assert [line for table in tables for line in table["line"]] == [10], "the report names no line of it"


def test_text_that_is_left_out_has_results_with_line_column_level_and_cause(make_repo):
    """The weakest passwords are what a reviewer must see; of each chunk, also the strong value beside them."""
    repo, weak = make_repo(), "Sommer2019!"
    lines = ["# é", "", f'T = "{token()}"', f'URL = "postgres://app:{weak}@db.corp:5432/x"']
    repo.commit({"src/db.py": "\n".join(lines).encode(), "a.py": f'T = "{token()}"\n'.encode()})
    found = extract(job([repo], [CREDENTIALS], chunk_bytes=2048), KEY)
    plain, (run,) = log_of(found)["runs"][0], log_of(found, dropped=dropped_of(found))["runs"]
    assert [place(r)["artifactLocation"]["uri"] for r in plain["results"]] == ["a.py"]
    assert len(run["results"]) == run["properties"]["results"] == 3
    assert "its text" not in plain["results"][0]["message"]["text"]
    check_form({**log_of(found), "runs": [run]})
    left = {r["ruleId"]: r for r in run["results"][1:]}
    for rule, line, cause in (
        ("betterleaks.github-pat", 3, "beside a value that is"),
        ("betterleaks.generic-credential-uri", 4, "too weak, 5 of 20 bits"),
    ):
        result, value = left[rule], token() if line == 3 else weak
        column = lines[line - 1].index(value) + 1
        assert place(result)["region"] == {"startLine": line, "startColumn": column, "endLine": line}
        assert place(result)["artifactLocation"]["uri"] == "src/db.py" and result["level"] == "warning"
        assert f"its text is left out of training: {cause}." in result["message"]["text"]
    assert weak not in json.dumps(run) and token() not in json.dumps(run)
    prints = [r["partialFingerprints"][FINGERPRINT] for r in run["results"]]
    assert len(set(prints)) == 3


def test_what_is_left_out_of_a_history_is_one_result_a_file_by_bytes(make_repo):
    repo, text = make_repo(), 'URL = "postgres://app:Sommer2019!@db.corp:5432/x"\n'
    for n in range(3):
        repo.commit({"db.py": f"{text}x = {n}\n".encode()})
    found = extraction([repo], [CREDENTIALS], "history")
    assert found.dropped.height > 1
    log = log_of(found, dropped=dropped_of(found))
    check_form(log)
    (result,) = log["runs"][0]["results"]
    assert set(place(result)["region"]) == BYTES


@pytest.mark.parametrize(
    ("ways", "weak", "strong"),
    [
        ({}, "left out of training: too weak, 5 of 20 bits", "left out of training: beside a value that is"),
        ({"in_plan": "redacted"}, "redacted by hush plan: too weak for noise, 5 of 20 bits",
         "redacted by hush plan"),
        ({"in_plan": "refused", "bits_needed": 24}, "refused by hush plan: too weak, 5 of 24 bits",
         "kept by hush plan, without the weak value beside it"),
        ({"protect": "drop"}, "left out of training: the config asks for it",
         "left out of training: beside a value that is"),
    ],
)  # fmt: skip
def test_it_says_what_becomes_of_text_under_each_way_of_an_entry(make_repo, ways, weak, strong):
    repo = make_repo()
    repo.commit({"db.py": f'"{token()}"\nURL = "postgres://app:Sommer2019!@db.corp:5432/x"\n'.encode()})
    found = extract(job([repo], [CREDENTIALS], chunk_bytes=2048), KEY)
    fates = with_fate(found.dropped, {"creds": ways})
    assert dict(fates.select("weak", "fate").iter_rows()) == {True: weak, False: strong}


def graph(rows, texts):
    """Frames of one secret in every example: rows are (source, path, start, end)."""
    examples = pl.DataFrame(
        [(i, s, p, "r", a, b, "", t) for i, ((s, p, a, b), t) in enumerate(zip(rows, texts, strict=True))],
        schema=EXAMPLES,
        orient="row",
    )
    secrets = pl.DataFrame([(0, "own kind", "e{0}[x](1)", 0.1, 0.2, 3.3, "")], schema=SECRETS, orient="row")
    edges = pl.DataFrame([(i, 0, "own{r}") for i in range(len(rows))], schema=EDGES, orient="row")
    return examples, secrets, edges, pl.DataFrame(schema=OCCURRENCES)


def test_a_value_of_several_lines_is_shown_by_its_first_place_in_each_chunk():
    text = b"a\nbb\ncc\nbb\ncc\n"
    examples, secrets, edges, none = graph([("r", "a", 0, 9), ("r", "a", 9, 14)], [text[:9], text[9:]])
    stands = pl.DataFrame([(0, 0, 8, 9), (0, 0, 2, 7), (0, 1, 0, 4)], schema=none.schema, orient="row")
    log = sarif(examples, secrets, edges, stands, tool_version="1")
    check_form(log)
    regions = [place(r)["region"] for r in log["runs"][0]["results"]]
    assert regions == [
        {"startLine": 2, "startColumn": 1, "endLine": 3},
        {"startLine": 4, "startColumn": 2, "endLine": 5},
    ]


def test_a_chunk_whose_beginning_is_missing_has_bytes_only():
    rows = [("r", "a", 0, 4), ("r", "a", 8, 12), ("r", "b", 4, 8)]
    log = sarif(*graph(rows, [b"a\nb\n"] * 3), tool_version="1")
    check_form(log)
    first, *others = (place(r)["region"] for r in log["runs"][0]["results"])
    assert (first["startLine"], first["startColumn"], first["endLine"], first["endColumn"]) == (1, 1, 3, 1)
    assert all(set(region) == {"byteOffset", "byteLength"} for region in others)


@pytest.mark.parametrize(
    "raw", [b"../../etc/passwd", b"a/../b", b"./a", b"/etc/passwd", b"a//b", b"a\\..\\..\\b", b".."]
)
def test_a_path_that_points_outside_is_given_by_name(raw):
    log = sarif(*graph([("r", printable_path(raw), 0, 1)], [b"x"]), tool_version="1")
    check_form(log)
    (result,) = log["runs"][0]["results"]
    assert set(result["locations"][0]) == {"logicalLocations"}


def test_braces_and_brackets_are_no_placeholders_and_bases_differ():
    log = sarif(
        *graph([("a b", "x", 0, 1), ("a/b", "x", 0, 1), ("a_b", "x", 0, 1)], [b"x"] * 3), tool_version="1"
    )
    check_form(log)
    (run,) = log["runs"]
    text = run["results"][0]["message"]["text"]
    assert "{{0}}" in text and r"\[x\]" in text and "own{{r}}" in text
    assert len(run["originalUriBaseIds"]) == 3
    assert run["results"][0]["ruleId"] == "own kind"


def test_no_edge_gives_an_empty_valid_log():
    examples, secrets, edges, stands = graph([("r", "a", 0, 1)], [b"x"])
    log = sarif(examples.clear(), secrets, edges.clear(), stands, tool_version="1")
    check_form(log)
    assert log["runs"][0]["results"] == []


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.text(alphabet="a\n\ré€😀\u0301\u2028", max_size=60), st.integers(1, 9))
def test_lines_and_bytes_name_the_same_text_at_every_border(text, size):
    data = text.encode()
    borders = [*range(0, len(data), size), len(data)]
    rows = [("r", "a", a, b) for a, b in pairwise(borders) if a < b]
    log = sarif(*graph(rows, [data[a:b] for _, _, a, b in rows]), tool_version="1")
    for result, (_, _, start, end) in zip(log["runs"][0]["results"], rows, strict=True):
        region = place(result)["region"]
        a, b = region["byteOffset"], region["byteOffset"] + region["byteLength"]
        assert a <= start and end <= b and b - a <= end - start + 6
        assert data[a:b].decode()  # whole characters
        assert span_of(text, region) == data[a:b]


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.binary(max_size=20))
def test_paths_come_back_byte_for_byte(raw):
    assert _raw_path(printable_path(raw)) == raw


def test_places_where_values_were_replaced_are_notes_on_the_lines_of_the_repository(make_repo):
    """Lines of the file as it is: of the training text they would be others, below a value of several lines."""
    key = base64.b64encode(b"\x30\x82\x04\xa4\x02\x01\x00" + random.Random(3).randbytes(600)).decode()
    body = "\n".join(key[i : i + 64] for i in range(0, len(key), 64))
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    repo = make_repo()
    text = f'# é\n\nK = """{block}"""\n' + "x = 1\n" * 5 + f'T = "{token()}"\nagain("{token()}")\n'
    repo.commit(
        {"app/keys.py": text.encode(), "copy.txt": f"{token()}\n".encode(), "none.py": b"y = 2\n" * 9}
    )
    repo.commit({"secret/a.py": b"hidden = 3\n" * 30})
    found = extraction([repo], [{**CREDENTIALS, "protect": "redact"}, PATH])
    log = log_of(found, replaced=(found.redacted, found.replaced))
    check_form(log)
    (run,) = log["runs"]
    notes = [r for r in run["results"] if r["properties"]["reason"] == "redacted"]
    assert len(notes) == run["properties"]["replaced"] == 4 < found.replaced.height, (
        "a line of a key is a note"
    )
    assert len(run["results"]) == len(notes) + found.edges.height and found.edges.height
    lines, seen = text.split("\n"), []
    for note in notes:
        assert note["level"] == "note" and "was replaced here before training" in note["message"]["text"]
        assert note["ruleId"].startswith("redacted.")
        path, region = place(note)["artifactLocation"]["uri"], place(note)["region"]
        there = lines if path == "app/keys.py" else [token()]
        seen.append((path, "\n".join(there[region["startLine"] - 1 : region["endLine"]])))
    assert ("copy.txt", token()) in seen
    assert ("app/keys.py", f'T = "{token()}"') in seen and ("app/keys.py", f'again("{token()}")') in seen
    assert any(body in said for _, said in seen) and not any(said == "x = 1" for _, said in seen)
    assert token() not in json.dumps(log) and key[:64] not in json.dumps(log)
    prints = [note["partialFingerprints"][FINGERPRINT] for note in notes]
    assert len(set(prints)) == len(prints)
    (short,) = log_of(found, replaced=(found.redacted, found.replaced), most=1)["runs"]
    left = short["properties"]["replacedLeftOut"]
    assert left == len(notes) - found.redacted.height and left > 0
    (few,) = log_of(found, replaced=(found.redacted, found.replaced), most_in_all=found.edges.height + 1)[
        "runs"
    ]
    assert few["properties"]["results"] == found.edges.height + 1


def test_a_replaced_value_of_a_history_has_no_lines(make_repo):
    repo = make_repo()
    repo.commit({"a.py": f'T = "{token()}"\n'.encode() + b"x = 1\n" * 9})
    repo.commit(
        {"a.py": b"y = 2\n" + f'T = "{token()}"\n'.encode() + b"x = 1\n" * 9, "secret/b.py": b"z = 1\n" * 9}
    )
    found = extraction([repo], [{**CREDENTIALS, "protect": "redact"}, PATH], "history")
    log = log_of(found, replaced=(found.redacted, found.replaced))
    (note,) = (r for r in log["runs"][0]["results"] if r["properties"]["reason"] == "redacted")
    assert place(note)["artifactLocation"]["uri"] == "a.py" and "region" not in place(note)


def test_results_below_a_replaced_value_stand_on_the_lines_of_the_repository(make_repo):
    """Two values of several lines that meet on one line, a third further down, and marked lines between them."""
    keys = [base64.b64encode(random.Random(n).randbytes(90)).decode() for n in range(3)]
    blocks = [
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(key[i : i + 40] for i in range(0, len(key), 40))
        + "\n-----END RSA PRIVATE KEY-----"
        for key in keys
    ]
    marks = [f"marker_number_{n} = {n}\n" for n in range(12)]
    text = "".join(marks[:3]) + f"{blocks[0]} {blocks[1]}\n" + "".join(marks[3:7]) + f"{blocks[2]}\n"
    text += "".join(marks[7:])
    repo = make_repo()
    repo.commit({"secret/keys.py": text.encode(), "none.py": b"y = 2\n" * 9})
    found = extraction([repo], [{**CREDENTIALS, "protect": "redact"}, PATH])
    assert found.replaced.filter(pl.col("end_line") > pl.col("line")).height >= 2
    log = log_of(found, replaced=(found.redacted, found.replaced))
    check_form(log)
    lines, texts, seen = text.split("\n"), found.examples["text"].to_list(), set()
    edges = found.edges.sort("example_id", "secret_id").iter_rows(named=True)
    results = [r for r in log["runs"][0]["results"] if r["properties"]["reason"] != "redacted"]
    for result, edge in zip(results, edges, strict=True):
        region = place(result)["region"]
        assert set(region) == LINES  # columns and bytes of the training text are not those of the file
        there = "\n".join(lines[region["startLine"] - 1 : region["endLine"]])
        whole = [mark for mark in marks if mark.encode() in texts[edge["example_id"]]]
        assert all(mark.strip() in there for mark in whole)
        seen |= set(whole)
    assert len(seen) >= 8
