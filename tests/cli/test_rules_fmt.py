"""`rules fmt` as people use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import make_terminal
from planner.cli import main


def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
    screen: Any = make_terminal(stdin=stdin)
    code = main.dispatch(["rules", "fmt", *words], screen)
    return code, screen.stdout.getvalue(), screen.stderr.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / ".planner" / "rules"
    own.mkdir(parents=True)
    (own / "a.dl").write_text("advice( A,B,C ):-b(A,B,C).\n")
    (own / "b.case").write_text('.case "x"\nb(1).\n')
    return tmp_path


def test_files_are_rewritten_and_listed(folder: Path) -> None:
    assert run("-check") == (3, ".planner/rules/a.dl\n", "")
    assert run() == (0, ".planner/rules/a.dl\n", "")
    assert (folder / ".planner" / "rules" / "a.dl").read_text() == "advice(A, B, C) :- b(A, B, C).\n"
    assert run("-check") == (0, "", "")


def test_differences_and_standard_input(folder: Path) -> None:
    code, out, _ = run("-write=false", "-diff", ".planner/rules/a.dl")
    assert code == 0 and "+advice(A, B, C) :- b(A, B, C)." in out
    assert run("-", stdin="a( 1 ).") == (0, "a(1).\n", "")


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"a(1)", "full stop"), (b"\xff", "not valid UTF-8"), (b"a('x').", "double quotes")],
)
def test_files_with_mistakes_stay_as_they_are(folder: Path, data: bytes, said: str) -> None:
    path = folder / ".planner" / "rules" / "bad.dl"
    path.write_bytes(data)
    code, _, problems = run()
    assert code == 2 and said in problems
    assert path.read_bytes() == data


def test_files_of_another_kind(folder: Path) -> None:
    (folder / "main.tf").write_text("")
    code, _, problems = run("main.tf")
    assert code == 2 and "main.tf is not a file of rules or cases" in problems
