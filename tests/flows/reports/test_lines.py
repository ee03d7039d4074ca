"""A report is written once: the terminal and the Prefect UI show the same words and numbers."""

import io
import re

from rich.console import Console

from flows.reports.lines import TAKE, WARNING, Grid, Line, Small, Where, markdown, show

BLOCKS = [
    "[bold]13 secrets[/bold], 40 examples",
    Grid(["entry", "σ", ""], [["a[red]", "1.5", "best"], ["b", "22.25", ""]], left="entry", chosen=0),
    Small("rule: the most weight"),
    Line("ways", "a[red]: redacted"),
    Line("", "b: left out"),
    Line(WARNING, "HOPELESS: [x]"),
    Line(TAKE, "none of these"),
    Where("/folder", "http://127.0.0.1:5000/run", "picture.png"),
]


def on_a_terminal(blocks):
    console = Console(file=io.StringIO(), width=100)
    show(blocks, console)
    return console.file.getvalue()


def test_the_terminal_and_markdown_show_the_same_words():
    screen, text = on_a_terminal(BLOCKS), markdown(BLOCKS)
    words = "13 secrets, 40 examples|a[red]|22.25|rule: the most weight|a[red]: redacted|b: left out|HOPELESS: [x]"
    for word in f"{words}|none of these|/folder|http://127.0.0.1:5000/run".split("|"):
        assert word in screen and word in text, word


def test_markdown_has_a_table_and_lists_apart_from_each_other():
    lines = markdown(BLOCKS).splitlines()
    table = [n for n, line in enumerate(lines) if line.startswith("|")]
    assert lines[table[0] : table[-1] + 1] == [
        "| entry | σ | note |", "|---|---|---|", "| a[red] | 1.5 | best |", "| b | 22.25 |  |"
    ]  # fmt: skip
    assert lines[table[0] - 1] == lines[table[-1] + 1] == ""
    assert lines[-6:-2] == [
        "- ways: a[red]: redacted", "  - b: left out", "- **!** HOPELESS: [x]", "- take: **none of these**"
    ]  # fmt: skip


def test_rows_beyond_the_most_are_counted_with_their_file_and_all_are_in_markdown():
    grid = Grid(["x"], [[str(n)] for n in range(7)], most=2, file="all.csv")
    screen = on_a_terminal([grid])
    assert "5 more in all.csv" in screen and "3" not in re.findall(r"\d+", screen)
    assert markdown([grid]).count("\n") == 8
