"""`planner ci`: a command with its report, as a job runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli.conftest import Ran
from render.review.documents import cause, change, document

from planner.workflows.review.comments import annotated_lines

from .hosts import GitHubDouble

MAIN = 'variable "a" {\n  default = 1\n}\nresource "terraform_data" "a" {\n  input = var.a\n}\n'


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubDouble]:
    """A job at GitHub, for a pull request."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    double = GitHubDouble()
    with double.serving() as variables:
        files = {name: str(tmp_path / name.lower()) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        for name, value in {**variables, **files, "GITHUB_WORKSPACE": str(tmp_path), "GITHUB_ACTIONS": "true"}.items():
            monkeypatch.setenv(name, value)
        yield double


def outputs(folder: Path) -> dict[str, str]:
    lines = (folder / "github_output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_from_plan_to_apply(host: GitHubDouble, planner: Callable[..., Ran], tmp_path: Path) -> None:
    ran = planner("ci", "-fail-on-changes", "-comment", "-name=plan .", "-arguments=-var='a=2'", "--", "plan")
    assert ran.code == 2, ran.err
    (text,) = host.texts()
    assert "Plan: 1 to add" in text and "terraform_data.a" in text
    assert (tmp_path / ".planner" / "report" / ".gitignore").read_text() == "*\n"
    assert "Plan: 1 to add" in (tmp_path / "github_step_summary").read_text()
    assert outputs(tmp_path) == {
        "changes": "true",
        "exit-code": "2",
        "plan-file": ".planner/report/tfplan",
        "report": ".planner/report/report.json",
    }
    ran = planner("ci", "-comment", "-name=apply .", "-init=false", "--", "apply", ".planner/report/tfplan")
    assert ran.code == 0 and "Applied: 1 added" in host.texts()[1]
    assert planner("ci", "-fail-on-changes", "-init=false", "--", "drift").code == 0
    assert outputs(tmp_path)["changes"] == "false"


def test_failures(host: GitHubDouble, planner: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN + 'output "x" {\n  value = nothing.there\n}\n')
    ran = planner("ci", "-comment", "-init=false", "--", "plan")
    assert ran.code == 1 and "Planning failed" in host.texts()[0] and outputs(tmp_path)["exit-code"] == "1"
    assert "::error file=main.tf,line=8," in ran.out
    (tmp_path / "main.tf").write_text("resource {")
    ran = planner("ci", "-comment", "--", "plan")  # already init fails
    assert ran.code == 1 and "There is no plan for" in host.texts()[0] and "failed with exit code 1" in host.texts()[0]
    host.fails = 9
    assert "The comment could not be written" in planner("ci", "-comment", "-init=false", "--", "plan").out


def test_wrong_words(planner: Callable[..., Ran]) -> None:
    assert "Missing command" in planner("ci", "--", "plann").err
    assert "Missing command" in planner("ci").err
    assert "-arguments" in planner("ci", "-arguments='", "--", "plan").err


def test_a_job_that_is_cancelled(host: GitHubDouble, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n'
        '    command = "touch begun; exec sleep 60"\n  }\n}\n'
    )
    words = [sys.executable, "-m", "planner", "ci", "-comment", "-init=false", "--", "apply", "-auto-approve"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) != 0
    (text,) = host.texts()
    assert "was cancelled" in text or "There is no plan" in text or "Apply failed" in text


def test_annotations() -> None:
    changes = [change("terraform_data.a")]
    one = document(
        about={"directory": "envs/prod"},
        causes=[cause("var.a", changes, file="main.tf", line=3), cause("var.b", changes, file="/etc/x", line=1)],
        diagnostics=[
            {"severity": "error", "summary": "No, not: this", "detail": "100%\nwrong", "file": "../net/a.tf", "line": 7}
        ],
    )
    assert annotated_lines(one, {"GITHUB_ACTIONS": "true"}) == [
        "::error file=envs/net/a.tf,line=7,title=No%2C not%3A this::100%25%0Awrong",
        '::notice file=envs/prod/main.tf,line=3,title=Causes update 1::var.a: "a" -> "b"',
    ]
    assert annotated_lines(one, {"TF_BUILD": "True"})[0].startswith(
        "##vso[task.logissue type=error;sourcepath=envs/net"
    )
    assert annotated_lines(one, {}) == []
