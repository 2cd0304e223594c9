"""Helpers of the command line's tests: a terminal that keeps what is printed, and what a command line did."""

from __future__ import annotations

import io

import pytest

from planner.render.terminal import Terminal


class Screen(io.StringIO):
    """A stream that claims to be a terminal, or not."""

    def __init__(self, text: str = "", terminal: bool = False) -> None:
        super().__init__(text)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Ran:
    """What a command line did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


def make_terminal(terminal: bool = False, stdin: str = "", width: int = 78) -> Terminal:
    return Terminal(Screen(stdin, terminal), Screen("", terminal), Screen("", terminal), width=width)


@pytest.fixture
def terminal() -> Terminal:
    return make_terminal()
