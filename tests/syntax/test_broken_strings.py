"""Where strings that are not closed run on to."""

from __future__ import annotations

import pytest

from planner.language.syntax.recover import line_breaks


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('x\n"', [1]),
        ('x\n\ny" \n "z" \n', [1]),
        ('x\n" a "b\n" \n', [1, 2]),
        ('x ${ \n y }\n"', [2]),
        ('x $${\n}"\n', [1]),
        ('x \\" \n"', [1]),
        ('x" # "y\nz = "q\n', [2]),
        ('x" /* "\n */ "q\n', [2]),
        ('x" <<E\n"\nE\n "q\n', [4]),
        ('x"} { "a\n" } \n', [1]),
    ],
)
def test_line_breaks(text: str, lines: list[int]) -> None:
    assert [text.count("\n", 0, start) + 1 for start, _ in line_breaks(text, 0)] == lines
