"""docs/refusals.md, made of what the tests of bad input try. From the root of the repository:

PYTHONPATH=.:tests/support python tests/support/refusals_page.py > docs/refusals.md
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HEAD = """\
# What a mistake prints

Each is refused before a server is started: one line on the terminal, exit status 2. What is wrong, and the line,
without its `hush: `. `tests/flows/test_bad_configs.py` has the configs, `tests/flows/test_bad_commands.py` the
commands; both hold each line against this page, which `tests/support/refusals_page.py` makes of them.
"""


def page():
    """The page, line by line."""
    import test_bad_commands
    import test_bad_configs

    yield from HEAD.splitlines()
    for title, what, rows in (
        ("In the config", "what is wrong", test_bad_configs.table),
        ("On the command line", "words after `hush`, behind the environment's", test_bad_commands.table),
    ):
        yield from ("", f"## {title}", "", f"| {what} | what is printed |", "|---|---|")
        yield from rows()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "flows"))
    with TemporaryDirectory() as place:
        os.environ["HUSH_HOME"] = place
        from tasks.runtime.environment import prepare_environment

        prepare_environment()  # before any command imports Prefect
        print("\n".join(page()))
