"""Completion of command lines by shells."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import forked

from planner.cli.completion import completions


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("planner va", ["validate", "vars"]),
        ("planner state ", ["journal", "list", "mv", "pull", "push", "replace-provider", "rm", "show", "verify"]),
        ("planner workspace se", ["select"]),
        ("planner env se", ["select"]),
        ("planner -chdir=x plan -detailed", ["-detailed-exitcode"]),
        ("planner plan -ou", ["-out="]),
        ("planner plan nothing-", []),
        ("planner -ver", ["-version"]),
        ("planner unknown -", []),
    ],
)
def test_words(line: str, words: list[str]) -> None:
    assert completions(line) == words


def test_a_shell_asks(tmp_path: Path) -> None:
    done = forked.run([], tmp_path, {"COMP_LINE": "planner workspace s xyz", "COMP_POINT": "19"})
    assert (done.returncode, done.stdout) == (0, "select\nshow\n")


def test_it_is_installed_and_removed(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert "Nothing was changed" in forked.run(["-install-autocomplete"], tmp_path, environ).stderr
    (tmp_path / ".bashrc").write_text("alias a=b")
    (tmp_path / ".zshrc").write_text("")
    (tmp_path / ".config/fish").mkdir(parents=True)
    assert forked.run(["-install-autocomplete"], tmp_path, environ).stdout.count("Added to") == 3
    lines = (tmp_path / ".bashrc").read_text().splitlines()
    assert lines[0] == "alias a=b" and lines[1].startswith("complete -C ") and lines[1].endswith(" planner")
    assert "bashcompinit" in (tmp_path / ".zshrc").read_text()
    assert forked.run(["-install-autocomplete"], tmp_path, environ).returncode == 1
    assert forked.run(["-uninstall-autocomplete"], tmp_path, environ).stdout.count("Removed from") == 3
    assert (tmp_path / ".bashrc").read_text() == "alias a=b\n"
    assert forked.run(["-uninstall-autocomplete"], tmp_path, environ).returncode == 1
