"""Helpers of the command line's tests: a terminal that keeps what is printed, and the command line itself."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from planner.cli import main
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


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command line in this process: words in; exit code and texts out."""
    for name in ("TF_CLI_ARGS", "TF_IN_AUTOMATION", "TF_INPUT", "TF_LOG", "PLANNER_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, stdin: str = "", terminal: bool = False) -> Ran:
        screen: Any = make_terminal(terminal, stdin)
        code = main.dispatch(list(words), screen)
        return Ran(code, screen.stdout.getvalue(), screen.stderr.getvalue())

    return run
