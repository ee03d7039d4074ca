"""The floors of the house: imports go down only, and the data's way through hush_core is one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = [
    "errors", "strict_yaml", "config", "corpus", "secrets", "accounting", "weights", "plan", "training", "auditing",
    "certificate", "figures",
]  # fmt: skip
"""`accounting` stands before `weights`, which takes one divergence from it; the DATA goes the other way."""


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files(folder):
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


FORBIDDEN = {
    "hush_core": {"prefect", "mlflow", "tasks", "flows", "typer", "rich"},
    "tasks": {"flows", "typer"},
}


@pytest.mark.parametrize("floor", FORBIDDEN)
def test_imports_go_down_only(floor):
    upwards = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files(floor)
        for name in imported(path)
        if name.split(".")[0] in FORBIDDEN[floor]
    }
    assert not upwards


def test_rooms_of_the_core_import_only_earlier_rooms():
    backwards = []
    for path in files("hush_core"):
        room = path.relative_to(ROOT / "hush_core").parts[0].removesuffix(".py")
        for name in imported(path):
            parts = name.split(".")
            if room == "__init__" or parts[0] != "hush_core" or len(parts) == 1:
                continue
            if ORDER.index(parts[1]) > ORDER.index(room):
                backwards.append(f"{path.relative_to(ROOT)}: {name}")
    assert not backwards


def test_tasks_hold_no_mathematics():
    mathematics = {"numpy", "scipy", "ortools", "dp_accounting", "math"}
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files("tasks")
        for name in imported(path)
        if name.split(".")[0] in mathematics
    }
    assert not found


def test_the_second_route_stands_alone():
    """What re-checks the bounds may share no code with what makes them: a mistake in one would pass in both."""
    foreign = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files("hush_core/certificate/recheck")
        for name in imported(path)
        if name.split(".")[0] in {"hush_core", "dp_accounting", "tasks", "flows"}
        and not name.startswith("hush_core.certificate.recheck")
    }
    assert not foreign
