"""Plans and applies that run on a server: a double of its API says what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import tfe

from planner.world.state.remote.runs import ServerRun
from planner.world.state.remote.upload import files_to_upload, ignore_patterns, is_ignored


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> Path:
    for name, value in tfe()[2].items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("planner.world.state.remote.runs._PAUSES", (0.0,))
    block = 'hostname = "tfe.test"\n  organization = "org"\n  workspaces {\n    name = "it-runs-there"\n  }'
    (tmp_path / "main.tf").write_text(
        f'terraform {{\n  cloud {{\n  {block}\n  }}\n}}\nvariable "a" {{\n  default = 1\n}}\n'
    )
    assert planner("init", "-input=false").code == 0
    return tmp_path


def facts(text: str) -> dict[str, Any]:
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))  # type: ignore[no-any-return]


def test_a_plan(place: Path, planner: Any) -> None:
    (place / "secret.txt").write_text("x")
    (place / ".terraformignore").write_text("secret.*\n")
    ran = planner("plan", "-no-color", "-target=terraform_data.a")
    assert ran.code == 0 and "https://tfe.test/app/org/workspaces/it-runs-there/runs/run-" in ran.out
    assert "Planning of run-" in ran.out
    assert facts(ran.out) == {
        "is-destroy": False,
        "target-addrs": ["terraform_data.a"],
        "files": [".terraform.lock.hcl", ".terraformignore", "main.tf"][1:],
        "refresh": True,
    }
    assert planner("plan", "-detailed-exitcode").code == 2
    (place / "outcome").write_text("nothing")
    assert planner("plan", "-detailed-exitcode").code == 0
    (place / "outcome").write_text("plan fails")
    failed = planner("plan")
    assert failed.code == 1 and "The run did not succeed" in failed.err


def test_an_apply(place: Path, planner: Any) -> None:
    ran = planner("apply", "-auto-approve", "-no-color")
    assert ran.code == 0 and "Apply complete!" in ran.out
    assert facts(planner("destroy", "-auto-approve").out)["is-destroy"] is True
    refused = planner("apply", stdin="no\n")
    assert refused.code == 1 and "The run was discarded." in refused.out and "Applying" not in refused.out
    assert "Apply complete!" in planner("apply", stdin="yes\n").out
    (place / "outcome").write_text("apply fails")
    assert "has ended as errored" in " ".join(planner("apply", "-auto-approve").err.split())
    (place / "outcome").write_text("policy")
    waits = planner("apply", "-auto-approve")
    assert waits.code == 1 and "The run waits for a decision (policy soft failed)" in " ".join(waits.err.split())
    (place / "outcome").write_text("nothing")
    assert planner("apply", "-auto-approve").code == 0


def test_what_has_no_effect_there(place: Path, planner: Any) -> None:
    ran = planner("plan", "-var=a=2")
    assert ran.code == 1 and "set them in the workspace" in " ".join(ran.err.split())
    for words in (("plan", "-out=p"), ("refresh",)):
        ran = planner(*words)
        assert ran.code == 1 and "Remote runs are not supported" in ran.err, words


def test_an_interrupt_cancels_the_run(place: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def interrupted(run: ServerRun, tries: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ServerRun, "_pause", interrupted)
    act = ServerRun.act
    monkeypatch.setattr(ServerRun, "act", lambda run, action: (done.append(action), act(run, action)))
    with pytest.raises(KeyboardInterrupt):
        planner("apply", "-auto-approve")
    assert done == ["cancel"]


def test_what_is_uploaded(tmp_path: Path) -> None:
    names = ("main.tf", ".git/x", ".terraform/x", ".terraform/modules/m/main.tf", "a/b.log", "a/keep.log", "c/d/e.txt")
    for name in (*names, "terraform.rc", "build/x/y", "src/build/z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".terraformignore").write_text("# comment\n\n*.log\n!a/keep.log\n/build/\nc/**/*.txt\n")
    assert sorted(files_to_upload(tmp_path)) == [
        ".terraform/modules/m/main.tf",
        ".terraformignore",
        "a/keep.log",
        "main.tf",
        "src/build/z",
    ]
    assert is_ignored("x/.git/config", ignore_patterns(tmp_path))
