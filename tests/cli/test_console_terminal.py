"""The console on a terminal of its own: prompts, lines that go on, history."""

from __future__ import annotations

from pathlib import Path

from .terminals import conversation


def typed(directory: Path, keys: list[str]) -> str:
    """What the console shows when these are typed, each after a prompt. Ends it with Ctrl-D."""
    code, shown = conversation(directory, ["console"], [*keys, "\x04"], ("> ", ". "), INPUTRC="/dev/null")
    assert code == 0
    return shown


def test_lines_go_on_while_brackets_are_open(tmp_path: Path) -> None:
    shown = typed(tmp_path, ["[1,\n", "2]\n", "nope\n", 'upper("x")\n'])
    assert "[\n  1,\n  2,\n]\n" in shown
    assert ". " in shown
    assert "Error: " in shown
    assert '"X"\n' in shown  # an error does not end it


def test_the_arrow_brings_the_last_line_back(tmp_path: Path) -> None:
    shown = typed(tmp_path, ["20 + 22\n", "\x1b[A\n"])
    assert shown.count("42\n") == 2
