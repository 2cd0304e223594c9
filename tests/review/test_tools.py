"""The ready-made jobs with the tools that they are for: actionlint (https://github.com/rhysd/actionlint, on the PATH,
as `.ci/nightly` builds it), the steps of the action in the environment of a runner, pre-commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from .hosts import OTHER, GitHubDouble

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
MAIN = 'variable "a" {\n  default = 1\n}\nresource "terraform_data" "a" {\n  input = var.a\n}\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "main.tf").write_text(MAIN)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="needs actionlint")
def test_actionlint() -> None:
    files = [*(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / "docs/ci/github").glob("*.yml")]
    newer = 'property "workflow_(repository|sha)" is not defined'  # of the context `job`, since 2026
    ran = subprocess.run(["actionlint", "-ignore", newer, *map(str, files)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.timeout(900)
def test_the_steps_of_the_action(repository: Path, tmp_path: Path) -> None:
    """The shell of the steps in order, with the variables and files of a runner: no runner of actions is at hand."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    inputs = {name: str(one.get("default", "")) for name, one in _inputs().items()}
    inputs |= {"token": "t0ken", "arguments": "-var='a=2'", "policy": "builtin:protect_stateful"}
    double = GitHubDouble()
    double.add(OTHER, "a remark")
    with double.serving() as variables:
        environment = {**os.environ, **variables, "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTIONS": "true"}
        environment |= {"GITHUB_WORKSPACE": str(repository), "GITHUB_SHA": git(repository, "rev-parse", "HEAD").strip()}
        files = {name: tmp_path / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for name, file in files.items():
            file.touch()
            environment[name] = str(file)
        for step in steps:
            if "cancelled()" in step.get("if", ""):
                continue
            path = ":".join([*files["GITHUB_PATH"].read_text().split(), os.environ["PATH"]])
            settings = {name: _evaluated(value, inputs) for name, value in step["env"].items()}
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            around = {**environment, **settings, "PATH": path}
            if "VERSION" in settings:  # PyPI is used only for a version with its hash
                bare = subprocess.run(words, cwd=repository, env={**around, "VERSION": "1"}, capture_output=True)
                assert bare.returncode and b"a version needs its hash" in bare.stderr
            subprocess.run(words, cwd=repository, env=around, check=True)
    assert "changes=true" in files["GITHUB_OUTPUT"].read_text()
    assert "Plan: 1 to add" in files["GITHUB_STEP_SUMMARY"].read_text() and "Plan: 1 to add" in double.texts()[1]


def _inputs() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])


def _evaluated(text: str, inputs: dict[str, str]) -> str:
    known = {
        "github.action_path": str(ROOT),
        "inputs.name || format('{0} {1}', inputs.command, inputs.directory)": inputs["name"] or "plan .",
        **{f"inputs.{name}": value for name, value in inputs.items()},
    }
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: known[found[1]], text)


@pytest.mark.timeout(900)
def test_pre_commit(repository: Path, tmp_path: Path) -> None:
    """All hooks, installed by pre-commit from a clone of the committed files."""
    pytest.importorskip("pre_commit")
    hooks = tmp_path / "hooks"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(hooks)], check=True)
    names = [one["id"] for one in yaml.safe_load((hooks / ".pre-commit-hooks.yaml").read_text())]
    entry = {
        "repo": str(hooks),
        "rev": git(hooks, "rev-parse", "HEAD").strip(),
        "hooks": [{"id": one} for one in names],
    }
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [entry]}))
    (repository / "main.tf").write_text(MAIN.replace("  default = 1", "default=2"))
    git(repository, "add", ".")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    words = ["pre-commit", "run", "--all-files"]
    first = subprocess.run(words, cwd=repository, env=environment, capture_output=True, text=True)
    assert first.returncode == 1 and "files were modified by this hook" in first.stdout, first.stdout
    git(repository, "add", ".")
    again = subprocess.run(words, cwd=repository, env=environment, capture_output=True, text=True)
    assert again.returncode == 0 and again.stdout.count("Passed") == len(names), again.stdout
