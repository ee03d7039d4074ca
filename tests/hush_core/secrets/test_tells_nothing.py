"""What is shown of an extraction is the same for candidates whose graphs and sizes are equal: one entry a kind.

Whole runs on the same pair: `tests/flows/test_tells_nothing.py`.
"""

import pytest
from alike import alike
from extracting import KEY, job, named

from hush_core.config import load_config
from hush_core.config.secrets import ENTRIES
from hush_core.mechanisms.unit_pools import LIFTED, TAGGED, without_reasons
from hush_core.progress import in_percent
from hush_core.secrets import extract
from hush_core.secrets.coverage import published, repeatable


def found(job, key=KEY):
    """The extraction of a job, and every stage and total that it told."""
    told = []
    config = load_config(job.config)
    assert {entry.kind for entry in config.secrets} == set(ENTRIES)
    return extract(config, key, in_percent(lambda *step: told.append(step))), told


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    return [found(alike(folder, other=n > 0, empty=True)) for n, folder in enumerate(folders)]


def test_the_candidates_have_equal_graphs_and_sizes_and_other_texts(pair):
    one, two = (result for result, _ in pair)
    pairs, numbers = ("example_id", "secret_id"), ("secret_id", "kind", "prior", "posterior", "provenance")
    assert one.edges.select(pairs).equals(two.edges.select(pairs))
    assert one.secrets.select(numbers).equals(two.secrets.select(numbers))
    tagged = set(one.edges["example_id"])
    texts = [result.examples["text"].to_list() for result in (one, two)]
    assert {n for n, (a, b) in enumerate(zip(*texts, strict=True)) if a != b} == tagged
    assert set(one.edges["secret_id"]) == set(one.secrets["secret_id"]), "each secret stands somewhere"


def test_what_may_be_shown_of_the_coverage_is_the_same(pair):
    one, two = (result.coverage for result, _ in pair)
    assert published(one) == published(two) == published(repeatable(two))


def test_the_planted_mistakes_are_told_by_the_same_pair(pair):
    """What was published before: counts of what is sought, ways of recognition, how many contents are equal."""
    one, two = (repeatable(result.coverage) for result, _ in pair)
    assert one["propagation"]["patterns"] != two["propagation"]["patterns"]
    assert one["propagation"]["copies"] != two["propagation"]["copies"]
    assert one["secrets"]["creds"]["reasons"] != two["secrets"]["creds"]["reasons"]
    scanned = [result.coverage["blobs_scanned"] for result, _ in pair]
    assert scanned[0] < scanned[1]


def test_edges_are_published_without_the_form_in_which_a_secret_was_recognised(pair):
    one, two = (result.edges for result, _ in pair)
    assert not one.equals(two) and without_reasons(one).equals(without_reasons(two))
    assert set(without_reasons(one)["reason"]) == {TAGGED}
    lifted = one.head(1).with_columns(reason=one["reason"].head(1).replace_strict({}, default=LIFTED))
    assert without_reasons(lifted).equals(lifted), "`pool` follows from the graph, and a reader needs it"


def test_progress_tells_no_number_of_contents(pair):
    assert {total for _, told in pair for _, _, total in told} == {100}
    ends = [[stage for stage, done, _ in told if done == 100] for _, told in pair]
    assert ends[0] == ends[1] and len(ends[0]) > 4  # how often between them depends on time


def test_nothing_to_do_reads_as_all_that_was_to_do():
    told = []
    step = in_percent(lambda *one: told.append(one))
    for done, total in ((0, 0), (0, 0), (3, 7), (7, 7)):
        step("detect", done, total)
    assert told == [("detect, %", share, 100) for share in (0, 100, 42, 100)]


@pytest.mark.parametrize("kind", ["patterns", "rare_words"])
def test_the_order_of_secrets_tells_nothing_of_the_order_of_values(kind, make_repo, tmp_path):
    """By value, the first of them would be found in a.txt under every key."""
    (tmp_path / "patterns.txt").write_text("(apple|zebra)fish\n")
    how = {"patterns": {"file": "patterns.txt"}, "rare_words": {"document_frequency": [1, 1]}}[kind]
    repo = make_repo("r")
    repo.commit({"a.txt": b"applefish\n", "z.txt": b"zebrafish\n"})
    secrets = [{"id": "w", "kind": kind, "bits": 20, **how}]
    config, first = job([named(repo)], secrets, folder=tmp_path), set()
    for n in range(12):
        result = extract(config, bytes([n]) * 32)
        rows = result.edges.join(result.examples, on="example_id").sort("secret_id")
        assert rows["secret_id"].to_list() == [0, 1] and result.secrets["name"].is_sorted()
        first.add(rows["path"][0])
    assert first == {"a.txt", "z.txt"}
