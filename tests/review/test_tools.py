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
    """A plan that is commented on, signed and applied, by the steps in order: no runner of actions is at hand."""
    key, keys = tmp_path / "key", repository / "reviewers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    keys.mkdir()
    (keys / "alice.pub").write_text((tmp_path / "key.pub").read_text())
    double = GitHubDouble()
    double.add(OTHER, "a remark")
    inputs = {"arguments": "-var='a=2'", "policy": "builtin:protect_stateful", "keys": "reviewers"}
    planned = run_action(repository, tmp_path, double, inputs)
    assert "changes=true" in planned["GITHUB_OUTPUT"] and "Plan: 1 to add" in planned["GITHUB_STEP_SUMMARY"]
    assert "Plan: 1 to add" in double.texts()[1]
    plan = tmp_path / "kept/planner-plan/tfplan"
    signature = plan.with_name("tfplan.intoto.jsonl")
    run = {"keys": "reviewers", "run": "1"}
    with pytest.raises(subprocess.CalledProcessError):
        run_action(repository, tmp_path, double, run)
    assert "### Not applied." in double.texts()[2] and "There are no signatures in" in double.texts()[2]
    sign = [str(tmp_path / "planner/bin/planner"), "sign", f"-key={key}", "tfplan"]
    subprocess.run(sign, cwd=plan.parent, check=True, capture_output=True)
    text = signature.read_text()
    signature.unlink()
    applied = run_action(repository, tmp_path, double, {**run, "signature": text})
    assert "Applied: 1 added" in applied["GITHUB_STEP_SUMMARY"] and "Plan: 1 to add" in double.texts()[1]


def run_action(repository: Path, folder: Path, double: GitHubDouble, given: dict[str, str]) -> dict[str, str]:
    """Run the shell of the steps with the variables and files of a runner, and keep artefacts in a directory; the
    content of the files. Raises CalledProcessError."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | {"token": "t0ken"} | given
    files = {name: folder / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    with double.serving() as variables:
        environment = {**os.environ, **variables, "RUNNER_TEMP": str(folder), "GITHUB_ACTIONS": "true"}
        environment |= {"GITHUB_WORKSPACE": str(repository), "GITHUB_SHA": git(repository, "rev-parse", "HEAD").strip()}
        environment |= {name: str(file) for name, file in files.items()}
        for step in action["runs"]["steps"]:
            if "cancelled() &&" in step.get("if", "").replace("!cancelled()", ""):
                continue
            if "uses" in step:
                _artefact(step, repository / inputs["directory"], folder, inputs)
                continue
            path = ":".join([*files["GITHUB_PATH"].read_text().split(), os.environ["PATH"]])
            settings = {name: _evaluated(value, inputs) for name, value in step["env"].items()}
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            around = {**environment, **settings, "PATH": path}
            if "VERSION" in settings:  # PyPI is used only for a version with its hash
                bare = subprocess.run(words, cwd=repository, env={**around, "VERSION": "1"}, capture_output=True)
                assert bare.returncode and b"a version needs its hash" in bare.stderr
            subprocess.run(words, cwd=repository, env=around, check=True)
    return {name: file.read_text() for name, file in files.items()}


def _artefact(step: dict[str, Any], directory: Path, folder: Path, inputs: dict[str, str]) -> None:
    """What the actions for artefacts do."""
    kept = folder / "kept" / step["with"]["name"]
    if "download" in step["uses"] and inputs["run"]:
        shutil.copytree(kept, folder / "planner-plan", dirs_exist_ok=True)
    elif "upload" in step["uses"] and inputs["keys"] and not inputs["run"]:
        kept.mkdir(parents=True)
        shutil.copy(directory / ".planner/report/tfplan", kept)


def _evaluated(text: str, inputs: dict[str, str]) -> str:
    command = "apply" if inputs["run"] else inputs["command"]
    name = "inputs.name || format('{0} {1}', inputs.run && 'apply' || inputs.command, inputs.directory)"
    known = {
        "github.action_path": str(ROOT),
        name: inputs["name"] or f"{command} {inputs['directory']}",
        **{f"inputs.{name}": value for name, value in inputs.items()},
    }
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: known[found[1]], text)


@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="needs pre-commit")
@pytest.mark.timeout(900)
def test_pre_commit(repository: Path, tmp_path: Path) -> None:
    """All hooks, installed by pre-commit from a clone of the committed files."""
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
