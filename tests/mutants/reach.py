"""Which tests execute which lines of the rooms, and how much processor time each takes.

    python tests/mutants/reach.py OUT.json -- [pytest's arguments]

A line that runs while a shared fixture is made counts for every test that uses the fixture. Caches of the library
are emptied before each test, so that no test rests on what an earlier one left there.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest


class Reach:
    """A pytest plugin: coverage's context is the test, or the shared fixture that is being made."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}
        self.fixtures: dict[str, list[str]] = {}
        self._stack: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.fixtures[item.nodeid] = list(item.fixturenames)
        for name, module in list(sys.modules.items()):
            if name.startswith(("hush_core", "lab", "tests", "test_")):
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear"):
                        value.cache_clear()
        began = time.process_time()
        self._enter(item.nodeid)
        try:
            return (yield)
        finally:
            self._leave()
            self.seconds[item.nodeid] = time.process_time() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        self._enter(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._leave()

    def _enter(self, context: str) -> None:
        self._stack.append(context)
        self.measured.switch_context(context)

    def _leave(self) -> None:
        self._stack.pop()
        self.measured.switch_context(self._stack[-1] if self._stack else "")


def main() -> int:
    out, arguments = Path(sys.argv[1]).resolve(), sys.argv[3:]
    root = Path.cwd()
    measured = coverage.Coverage(data_file=None, include=["hush_core/*", "lab/*"], config_file=False)
    reach = Reach(measured)
    measured.start()
    code = pytest.main(arguments, plugins=[reach])
    measured.stop()
    data = measured.get_data()
    users: dict[str, list[str]] = defaultdict(list)
    for test, names in reach.fixtures.items():
        for name in names:
            users[f"fixture {name}"].append(test)
    lines = {
        str(Path(file).relative_to(root)): {
            line: sorted({t for c in contexts if c for t in users.get(c, [c])})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    out.write_text(json.dumps({"seconds": reach.seconds, "lines": lines}))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
