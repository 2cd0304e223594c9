"""More than a screen, on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import make_terminal
from cli.terminals import conversation
from planner.cli.flags import Arguments
from planner.cli.views import paged

PAGER = "sed 's/^/page: /'"
ON = {"TERM": "xterm", "NO_COLOR": "", "PLANNER_PAGER": PAGER}
CONFIGURATION = 'variable "n" {}\nresource "terraform_data" "a" {\n  count = var.n\n}\n'


def test_more_than_a_screen_goes_through_the_pager(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(CONFIGURATION)

    def shown(*words: str, **environment: str) -> str:
        code, text = conversation(tmp_path, words, (), (), **{**ON, **environment})
        assert code == 0
        return text

    text = shown("plan", "-var=n=20", "-out=p")
    assert "page: " in text and "\x1b[" in text
    assert "page: " in shown("show", "p")
    dumb = shown("plan", "-var=n=20", TERM="dumb")
    assert "page: " not in dumb and "\x1b" not in dumb and "a[19]" in dumb


def test_a_screen_needs_no_pager_and_a_missing_pager_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for pager, lines in (("false", 5), ("no-such-pager", 50)):
        monkeypatch.setattr("planner.cli.views._is_welcome", lambda *_: True)
        monkeypatch.setenv("PLANNER_PAGER", pager)
        terminal = make_terminal(True)
        with paged(Arguments({}), terminal):
            terminal.out("\n".join(["line"] * lines))
        assert terminal.outputs[0].stream.getvalue().count("line") == lines  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "environment", "is_terminal", "expected"),
    [
        ({}, {}, True, True),
        ({"pager": False}, {}, True, False),
        ({"json": True}, {}, True, False),
        ({}, {"NO_PAGER": "1"}, True, False),
        ({}, {"PLANNER_PAGER": ""}, True, False),
        ({}, {"CI": "true"}, True, False),
        ({}, {"TF_IN_AUTOMATION": "1"}, True, False),
        ({}, {"TERM": "dumb"}, True, False),
        ({}, {}, False, False),
    ],
)
def test_there_is_no_pager_where_it_is_refused(
    values: dict[str, bool],
    environment: dict[str, str],
    is_terminal: bool,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CI", "NO_PAGER", "PLANNER_PAGER", "TF_IN_AUTOMATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    terminal = make_terminal(is_terminal)
    terminal.owns_process = True
    with paged(Arguments({"pager": True, **values}), terminal):
        assert (terminal.outputs[0].held is not None) == expected
