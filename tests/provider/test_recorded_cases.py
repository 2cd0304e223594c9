"""The recorded cases with the tests' plugin, played by this program: see recorded.py."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from provider.plugins import attached, is_alive, override, pids, write, write_settings
from provider.recorded import CASES, names, play

from planner.world.provider.plugin.process import end_all

NAMES = sorted(path.stem for path in CASES.glob("*.json"))
FROM_PYPI = {"tf", "pyvider"}
"""providers that need environments of their own"""


def marked(name: str, is_other: bool) -> object:
    """Each case is recorded with both protocols; what differs in the older one has tests of its own. Of
    the others, one in six is run by default."""
    needed = FROM_PYPI & set(names(json.loads((CASES / f"{name}.json").read_text())))
    is_twin = name.endswith("-5") and f"{name[:-1]}6" in NAMES
    return pytest.param(name, marks=[pytest.mark.slow] if needed or is_twin or is_other else [])


def run(*words: str) -> tuple[int, str]:
    """A command of this process: most of its time would go into starting another one."""
    from planner.cli.main import run as command

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = command(list(words))
    end_all()  # as at the end of a process
    return code, out.getvalue()


@pytest.mark.parametrize("name", [marked(name, number % 6 > 0) for number, name in enumerate(NAMES)])
def test_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    protocol = case.get("protocol", 6)
    world = override(monkeypatch, tmp_path, protocol, names(case))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TF_IN_AUTOMATION", "1")
    if "attached" in case:
        monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(write_settings(tmp_path, {})))
        with attached({name: write(name, tmp_path / "bin" / name, protocol) for name in names(case)}) as told:
            monkeypatch.setenv("TF_REATTACH_PROVIDERS", told)
            played = play(case, folder, world, run)
    else:
        played = play(case, folder, world, run)
    found = json.loads(json.dumps(played))
    for number, (actual, expected) in enumerate(zip(found, case["expected"], strict=True)):
        for part in sorted({*actual, *expected}):
            assert actual.get(part) == expected.get(part), f"step {number}: {part}"
    assert not any(map(is_alive, pids(world) if (world / "started").exists() else []))
    assert os.getcwd() == str(folder)


def test_there_are_many() -> None:
    made_with = [names(json.loads((CASES / f"{name}.json").read_text())) for name in NAMES]
    assert sum("test" in providers for providers in made_with) >= 60
    assert sum("tf" in providers for providers in made_with) >= 25
    assert sum("pyvider" in providers for providers in made_with) >= 25
