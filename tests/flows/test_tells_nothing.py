"""Two whole runs whose secrets differ, one entry of every kind, and all that leaves the private store of each.

Graphs and sizes are equal (`tests/support/alike.py`), and so is the identity key. What leaves is compared byte
for byte but for what `leaving.OF_ITS_OWN` names, in which two runs on one text differ too, and for what MAY_DIFFER
names, which the certificate lists as released without noise.
"""

import re

import leaving
import pytest
from alike import alike

pytestmark = pytest.mark.slow

COMMANDS = (("secrets", "job.yaml"), ("plan", "job.yaml"), ("run", "job.yaml"), ("verify", "models:/job/1"))
FOR_READERS_OF_THE_TEXT = "secrets"
"""The command whose terminal, as its folder, names files and ways of recognition; its artifacts are compared."""
NUMBER = r"-?\d[\d.e+-]*"
MAY_DIFFER = {
    "loss on held-out examples": (
        rf"bits_per_\w+ (value|metric_timestamp_ms=<time> metric_step=0 metric_value)={NUMBER}",
        rf"report\.(losses\.\w+|tagged_losses\.[\w ]+|gain): {NUMBER}",
        rf": \| (pretrained|protected|unprotected) \| {NUMBER} \|$",
        rf"\b(pretrained|before its rounds) {NUMBER} (·|\\u00b7) protected {NUMBER}",
        rf"(^|[( ]){NUMBER} ?% of (what it could gain|what unprotected training gains|the unprotected gain)",
        rf"<b>{NUMBER}</b><span>bits per byte on held-out text|<td class=\"r\">{NUMBER}</td></tr>",
        r"^file .*/(loss|learning_curves)\.png",
    ),
    "results of the attacks": (
        r"^file .*/(exposure\w*)(\.preview)?\.(parquet|csv|png): ",
        r"facts\.audits\.(secrets|succeeded|note): ",
        r"report\.rows\.\w*(rank|exposure_bits|extracted|alternatives|attacked|probability)\w*: ",
        r"report\.warnings: \d+ items",
        r"\d+ warnings? to read first",
        r"attack(</td>|:|\b) .*\d+ of \d+|first of \d+: ",
        r"(\d+ of 21|\\u2013|–|-) \|$|data-v=\"\d*\">(\d+ of 21|–)</td>",
        r"^output of run job.yaml: \w+/.*> +\d+( \S+e\S+){3}( +(-|\d+|(OUT )?\d+ \(\d+\.\d\))){3}$",
        r"(key|metric_name)=extracted_\w+ ",
    ),
    "when each step began and ended": (
        r"( - |message=)[\w ]+: (?!0 of)(\d+) of (?!\2\b)\d+( |$)",
        r"(key|metric_name)=training/",
    ),
}  # fmt: skip
"""By the line of `released_unprotected` that covers it: what of what leaves a home may tell candidates apart."""

BY_CHANCE = "the protected model is no better than before"
"""A warning that a run's own noise decides, where the two losses are near each other."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    found = []
    for other in (False, True):
        job = alike(tmp_path_factory.mktemp("job"), other=other)
        (job.home / "keys").mkdir(mode=0o700, exist_ok=True)
        (job.home / "keys" / "identity.key").write_bytes(b"k" * 32)
        (job.home / "keys" / "identity.key").chmod(0o600)
        with job.served():
            output = {" ".join(command): job.hush(*command) for command in COMMANDS}
        assert not any(value.decode() in text for value in job.values for text in output.values())
        output = {command: text for command, text in output.items() if FOR_READERS_OF_THE_TEXT not in command}
        lines = leaving.lines(job.home, job.folder, output)
        found.append({place: [x for x in told if BY_CHANCE not in x] for place, told in lines.items()})
    return found


def told_apart(places, allowed):
    """Place → its lines but those that match one of the patterns, which are matched against `place: line`."""
    patterns = [re.compile(pattern) for pattern in allowed]
    return {
        place: [line for line in lines if not any(p.search(f"{place}: {line}") for p in patterns)]
        for place, lines in places.items()
    }


def test_all_that_leaves_is_the_same_but_for_what_is_listed(pair):
    patterns = [pattern for several in MAY_DIFFER.values() for pattern in several]
    one, two = (told_apart(places, patterns) for places in pair)
    assert set(one) == set(two)
    assert sum(map(len, one.values())) > 5000 and {
        "output of run job.yaml", "output of verify models:/job/1", "table mlflow.db metrics",
        "table prefect.db log", "table prefect.db artifact", "file reports/job-1.html",
        "file mlartifacts/<uuid>/artifacts/coverage.json",
        "file mlartifacts/<uuid>/artifacts/certificate/certificate.json",
        "file mlartifacts/<uuid>/artifacts/tables/edges.parquet",
    } < set(one)  # fmt: skip
    apart = {
        place: ([line for line in lines if line not in two[place]], [x for x in two[place] if x not in lines])
        for place, lines in one.items()
        if lines != two[place]
    }
    assert not apart, "\n".join(f"{place}\n  {a[:9]}\n  {b[:9]}" for place, (a, b) in apart.items())


def test_what_may_differ_does_and_is_named_in_the_certificate(pair):
    """A pattern that matches nothing is one too many; so is a promise of more than is kept."""
    listed = " ".join(
        line.partition(": ")[2]
        for line in pair[0]["file mlartifacts/<uuid>/artifacts/certificate/certificate.json"]
        if line.startswith("facts.training.released_unprotected: ")
    )
    for name, patterns in MAY_DIFFER.items():
        assert name in listed, name
        for pattern in patterns:
            lines = [f"{place}: {line}" for place, told in pair[0].items() for line in told]
            lines += [f"{place}: {line}" for place, told in pair[1].items() for line in told]
            assert any(re.search(pattern, line) for line in lines), pattern
