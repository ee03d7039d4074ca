"""The floors of the house: imports go down only, and the data's way through hush_core is one way."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = [
    "errors", "linear", "progress", "memory", "mapping", "files", "values", "strict_yaml", "config", "corpus",
    "secrets", "accounting", "weights", "plan", "mechanisms", "history", "training", "rehearsal", "rivals",
    "auditing", "certificate", "signing", "figures",
]  # fmt: skip
"""`accounting` stands before `weights`, which takes one divergence from it; the DATA goes the other way."""


def nodes(path):
    return parsed(path.read_text())


@cache
def parsed(text):
    return list(ast.walk(ast.parse(text)))


def imported(path):
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files(folder):
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


FORBIDDEN = {
    "hush_core": {"prefect", "mlflow", "tasks", "flows", "typer", "rich", "lab"},
    "tasks": {"flows", "typer", "lab"},
    "hush": {"lab"},
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


LABORATORY = {("flows/commands/jobs.py", "replicate"), ("flows/commands/models.py", "audit")}


def test_the_laboratory_is_loaded_by_two_commands_alone_and_only_when_they_are_called():
    """Functions that import it, however deep; None: at a file's top."""
    found = {
        (path.relative_to(ROOT).as_posix(), getattr(statement, "name", None))
        for path in files("flows")
        for statement in ast.parse(path.read_text()).body
        for node in ast.walk(statement)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if (name or "").split(".")[0] == "lab"
    }
    assert found == LABORATORY


def test_tasks_hold_no_mathematics():
    mathematics = {"numpy", "scipy", "ortools", "dp_accounting", "math"}
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files("tasks")
        for name in imported(path)
        if name.split(".")[0] in mathematics
    }
    assert not found


# no import circles, wherever an import stands


def modules():
    """Dotted name → file."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for folder in ("hush_core", "tasks", "flows", "hush", "lab")
        for path in files(folder)
    }


def graph_of(known):
    """Module → the modules that it imports: at the top, in functions and under TYPE_CHECKING."""
    graph = {}
    for name, path in known.items():
        targets = set()
        for node in nodes(path):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: a relative import"
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= (inside & known.keys()) or {node.module}
        graph[name] = targets & known.keys() - {name}
    return graph


def circle_in(graph):
    """Some circle, as the names on it, or None."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return way[way.index(name) :]
        if name in done:
            return None
        way.append(name)
        found = next((circle for target in sorted(graph[name]) if (circle := visit(target))), None)
        way.pop()
        done.add(name)
        return found

    return next((circle for name in sorted(graph) if (circle := visit(name))), None)


def test_there_are_no_import_circles():
    assert circle_in(graph_of(modules())) is None


def test_a_circle_would_be_seen(tmp_path):
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("def f():\n    from c import x\n")
    (tmp_path / "c.py").write_text("if TYPE_CHECKING:\n    from a import y\n")
    known = {name: tmp_path / f"{name}.py" for name in "abc"}
    assert circle_in(graph_of(known)) == ["a", "b", "c"]
    (tmp_path / "c.py").write_text("x = 1\n")
    assert circle_in(graph_of(known)) is None


# what is written once


def places(matches):
    """Files in which some node of the syntax tree matches."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in ("hush_core", "tasks", "flows", "lab")
        for path in files(folder)
        if any(matches(node) for node in nodes(path))
    }


def test_the_type_of_a_progress_callback_is_written_once():
    one = ast.dump(ast.parse("Callable[[str, int, int], None]", mode="eval").body)
    assert places(lambda node: isinstance(node, ast.Subscript) and ast.dump(node) == one) == {
        "hush_core/progress.py"
    }


@pytest.mark.parametrize(
    ("call", "besides"),
    [
        ("os.replace", {"tasks/runtime/store.py"}),  # which moves a damaged folder aside
        # a ledger appends, and a checkpoint ends in its own digest: neither is a file that is replaced
        ("os.fsync", {"hush_core/history/ledger.py", "hush_core/training/checkpoint.py"}),
        ("hashlib.file_digest", set()),
    ],
)
def test_files_are_replaced_synced_and_hashed_in_one_place(call, besides):
    def matches(node):
        return isinstance(node, ast.Call) and ast.unparse(node.func) == call

    assert places(matches) == {"hush_core/files.py"} | besides


def test_no_function_takes_ten_arguments_by_position():
    wide = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in modules().values()
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and len(node.args.posonlyargs + node.args.args) >= 10
    }
    assert not wide


def size_of(function):
    """Its arguments, of any kind, and its lines."""
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one]
    count = len([*given.posonlyargs, *given.args, *given.kwonlyargs, *several])
    return count, function.end_lineno - function.lineno + 1


def test_no_function_has_more_than_ten_arguments_or_sixty_lines():
    large = {
        f"{path.relative_to(ROOT)}: {node.name}": size
        for path in modules().values()
        for node in nodes(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any(map(int.__gt__, size := size_of(node), (10, 60)))
    }
    assert not large


def test_no_file_of_the_product_has_more_than_three_hundred_lines():
    long = {
        path.relative_to(ROOT).as_posix()
        for folder in ("hush_core", "tasks", "flows", "hush")
        for path in files(folder)
        if len(path.read_text().splitlines()) > 300
    }
    assert not long


def test_no_two_public_classes_of_the_product_share_a_name():
    places = defaultdict(set)
    for folder in ("hush_core", "tasks", "flows"):
        for path in files(folder):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(path.relative_to(ROOT).as_posix())
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


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


def test_no_two_test_files_register_the_same_model_name():
    """A worker's tests share one tracker: a model that one file approved would be champion in another."""
    users = defaultdict(set)
    for path in files("tests"):
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "register" and node.args:
                users[getattr(node.args[0], "value", None)].add(path.name)
    assert {"approved", "rejected"} <= users.keys()
    assert not {name: paths for name, paths in users.items() if isinstance(name, str) and len(paths) > 1}
