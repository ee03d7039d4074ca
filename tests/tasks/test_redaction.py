"""`hush verify` looks for redacted values in the examples of the home that made them, or says that it cannot."""

from __future__ import annotations

import json
from types import SimpleNamespace

import polars as pl
import pytest

from hush_core.certificate import Verification
from hush_core.errors import VerificationError
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.fingerprints import fingerprints
from hush_core.secrets.graph import EXAMPLES, REDACTED
from hush_core.secrets.propagation.value_search import SearchTerm
from hush_core.secrets.redaction import RedactedSecret
from tasks.redaction import FOLDER, check_redaction, note_redaction
from tasks.runtime.environment import home
from tasks.runtime.store import Store

VALUE = b"zephyr-quartz-71"
TABLE = pl.DataFrame(
    [(0, "literals", "names/1", 1e-6, 2, "literals"), (1, "literals", "names/2", 1e-6, 0, "literals")],
    schema=REDACTED,
    orient="row",
)


def examples(*texts: bytes) -> pl.DataFrame:
    rows = [(i, "r", "p", "c", 0, len(t), "text", t) for i, t in enumerate(texts)]
    return pl.DataFrame(rows, schema=EXAMPLES, orient="row")


def verification(fingerprint: str, table: pl.DataFrame = TABLE) -> Verification:
    """What `verify_certificate` gives, as far as the check looks at it."""
    facts = SimpleNamespace(examples_fingerprint=fingerprint)
    certificate = SimpleNamespace(facts=facts)
    return Verification(certificate, pl.DataFrame(), {"redacted.parquet": table}, (0, 0, 0), (0, 0, 0), False)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Store examples as the extraction does; the certificate's fingerprint of them."""
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    home().create()
    terms = [
        RedactedSecret(DetectedSecret(0, "x", None, "l"), v, (SearchTerm(v, any_case=True),))
        for v in (VALUE, b"never")
    ]

    def make(texts: pl.DataFrame, public: pl.DataFrame | None = None) -> str:
        store = Store(home().store)
        refs = [
            store.put_frame(frame, kind="examples")
            for frame in (texts, examples() if public is None else public)
        ]
        kept = store.put_frame(fingerprints(terms, home().identity_key()), kind="redaction_fingerprints")
        fingerprint = home().fingerprint(refs[0].sha256)
        note_redaction(store, fingerprint, *refs, kept)
        return fingerprint

    return make


def test_clean_examples_are_said_to_be_clean(made):
    seen = check_redaction(verification(made(examples(b"see [REDACTED]", b"other"))))
    assert seen.redaction.startswith("no example holds one of the 2 of 2 redacted values")


@pytest.mark.parametrize("slip", [VALUE, VALUE.upper(), VALUE.hex().encode(), b'zephyr-qu" "artz-71'])
def test_a_slip_is_named_without_its_value(made, slip):
    for texts, public, where in (
        (examples(b"fine", b"see " + slip), None, "examples 1"),
        (examples(b"fine"), examples(slip), "public 0"),
    ):
        with pytest.raises(VerificationError) as refused:
            check_redaction(verification(made(texts, public)))
        assert str(refused.value).count("names/1") == 1 and where in str(refused.value)
        assert VALUE.decode() not in str(refused.value).lower()


def test_an_example_whose_search_takes_too_long_is_not_said_to_be_clean(made, monkeypatch):
    monkeypatch.setattr(deadline, "SECONDS", -1.0)
    monkeypatch.setattr(deadline, "SECONDS_A_MB", 0.0)
    said = check_redaction(verification(made(examples(b"see [REDACTED]", b"other")))).redaction
    assert said.endswith("the search could not finish in time in 2 of them, which are NOT CHECKED")


def test_elsewhere_it_says_that_it_was_not_checked(made, monkeypatch, tmp_path):
    fingerprint = made(examples(b"see " + VALUE))
    other = tmp_path / "other"
    monkeypatch.setenv("HUSH_HOME", str(other))
    assert check_redaction(verification(fingerprint)).redaction.startswith("NOT CHECKED")
    assert not other.exists(), "a check makes no home"


def test_examples_that_are_gone_or_edited_are_not_said_to_be_clean(made):
    fingerprint = made(examples(b"see [REDACTED]"))
    for path in (home().store / "objects").rglob("*.parquet"):
        path.write_bytes(b"edited")
    assert check_redaction(verification(fingerprint)).redaction.startswith("NOT CHECKED")


def test_a_storage_that_is_away_is_said_to_be_why(made, monkeypatch, tmp_path):
    fingerprint = made(examples(b"see [REDACTED]"))
    for path in (home().store / "objects").rglob("*.parquet"):
        path.unlink()
    monkeypatch.setenv("HUSH_STORE", (tmp_path / "not-mounted").as_uri())
    said = check_redaction(verification(fingerprint)).redaction
    assert said.startswith("NOT CHECKED") and "HUSH_STORE (file:///" in said and "not in this" not in said


def test_a_note_that_names_other_examples_is_refused(made):
    """Somebody points the note at clean examples: they are not those of the certificate."""
    clean, bad = made(examples(b"clean")), made(examples(VALUE))
    folder = home().store / FOLDER
    (folder / f"{bad}.json").write_bytes((folder / f"{clean}.json").read_bytes())
    with pytest.raises(VerificationError, match="other examples"):
        check_redaction(verification(bad))
    assert VALUE.decode() not in json.dumps([p.read_text() for p in folder.iterdir()])


def test_nothing_redacted_is_nothing_to_say(made):
    assert check_redaction(verification("0" * 64, TABLE.clear())).redaction == ""
