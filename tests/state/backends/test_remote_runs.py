"""Plans and applies that run on a server: a double of its API says what becomes of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import tfe

import planner as library
from planner.world.state.remote.runs import ServerRun, files_to_upload, ignore_patterns, is_ignored, upload_root


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
    for words in ("-exclude=terraform_data.a", "-parallelism=3", "-policy=builtin:starter"):
        ran = planner("plan", words)
        assert ran.code == 1 and words.partition("=")[0] in ran.err, words
    content = (place / "main.tf").read_text()
    (place / "main.tf").write_text(content.replace("cloud {", 'backend "remote" {'))
    assert planner("init", "-input=false", "-reconfigure").code == 0
    for words in ("-var=a=2", "-out=p"):
        ran = planner("plan", words)
        assert ran.code == 1 and "cloud block" in " ".join(ran.err.split()), words


def test_variables_that_the_server_cannot_know(place: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "x.auto.tfvars").write_text("a = 3\n")
    assert "variables" not in facts(planner("plan").out)
    monkeypatch.setenv("TF_VAR_a", "4")  # which the file overrides
    assert "variables" not in facts(planner("plan").out)
    (place / "named").write_text('b = { c = ["x"] }\n')
    with (place / "main.tf").open("a") as file:
        file.write('variable "b" {}\nvariable "elsewhere" {}\n')
    assert facts(planner("plan", "-var=a=2", "-var-file=named").out)["variables"] == [
        {"key": "a", "value": '"2"'},
        {"key": "b", "value": '{\n  c = ["x"]\n}'},
    ]
    ran = planner("plan", "-var=other=2")
    assert ran.code == 1 and "declares no variable other" in ran.err


def test_a_saved_plan(place: Path, planner: Any) -> None:
    ran = planner("plan", "-out=saved", "-no-color")
    assert ran.code == 0 and 'planner apply "saved"' in ran.out
    note = json.loads((place / "saved").read_text())
    assert note == {"remote_plan_format": 1, "run_id": note["run_id"], "hostname": "tfe.test"}
    applied = planner("apply", "saved")
    assert applied.code == 0 and "Apply complete!" in applied.out and note["run_id"] in applied.out
    again = planner("apply", "saved")
    assert again.code == 1 and "it is already applied" in " ".join(again.err.split())
    for change, problem in (
        ({"hostname": "other.test"}, "Saved plan of another server"),
        ({"run_id": "run-none"}, "cannot be followed"),
        ({"run_id": "x"}, "Unusable plan file"),
        ({"remote_plan_format": 2}, "Unusable plan file"),
    ):
        (place / "other").write_text(json.dumps({**note, **change}))
        ran = planner("apply", "other")
        assert ran.code == 1 and problem in " ".join(ran.err.split()), change
    text = (place / "main.tf").read_text()
    (place / "main.tf").write_text(text.replace("it-runs-there", "another-there"))
    assert planner("init", "-input=false", "-reconfigure").code == 0
    ran = planner("apply", "saved")
    assert ran.code == 1 and "does not belong to the workspace org/another-there" in " ".join(ran.err.split())
    (place / "main.tf").write_text("")
    assert planner("init", "-input=false", "-reconfigure").code == 0
    ran = planner("show", "saved")
    assert ran.code == 1 and "has no cloud block" in " ".join(ran.err.split())


PLANNED: dict[str, Any] = {
    "resource_changes": [
        {
            "address": "terraform_data.a",
            "mode": "managed",
            "type": "terraform_data",
            "name": "a",
            "provider_name": "terraform.io/builtin/terraform",
            "change": {
                "actions": ["create"],
                "before": None,
                "after": {"input": "redacted", "triggers_replace": None},
                "after_unknown": {"id": True, "output": True},
                "before_sensitive": False,
                "after_sensitive": {"input": True},
                "generated_config": 'resource "terraform_data" "a" {\n}',
                "importing": {"id": "x"},
            },
        }
    ]
}


def test_plans_that_the_server_has_as_documents(place: Path, planner: Any) -> None:
    text = (place / "main.tf").read_text()
    (place / "main.tf").write_text(text.replace("it-runs-there", "structured-runs-there"))
    assert planner("init", "-input=false", "-reconfigure").code == 0
    (place / "plan.json").write_text(json.dumps(PLANNED))
    ran = planner("plan", "-no-color", "-out=saved", "-generate-config-out=generated.tf")
    assert ran.code == 0 and "Refreshing state" in ran.out and "Plan to create" not in ran.out
    assert "# terraform_data.a will be created" in ran.out and "+ input" in ran.out and "(sensitive value)" in ran.out
    assert "Warning: old" in ran.out and "It is." in ran.out
    assert 'resource "terraform_data" "a" {' in (place / "generated.tf").read_text()
    shown = planner("show", "-no-color", "saved")
    assert shown.code == 0, shown.err
    assert "(sensitive value)" in shown.out and "planned and saved (confirmable)" in shown.out
    assert json.loads(planner("show", "-json", "saved").out) == PLANNED
    (place / "plan.json").write_text('{"resource_changes": [{"address": 1}]}')
    broken = planner("plan")
    assert broken.code == 1 and "plan cannot be read: not plan JSON" in " ".join(broken.err.split())


def test_reports_about_a_run(place: Path, planner: Any) -> None:
    for name, content in (("cost", "finished"), ("check", "passed"), ("task", "passed"), ("events", "Levels changed.")):
        (place / name).write_text(content)
    ran = planner("apply", "-auto-approve", "-no-color")
    assert ran.code == 0 and "Levels changed." in ran.out
    for text in ("scan: passed", "2 of 3 resources estimated", "$12.5/mo -$2.5", "The policy looked at the run."):
        assert text in ran.out, text
    assert "Policy set ours" in ran.out and "tags passed: All have tags." in ran.out
    for name, content, problem in (
        ("cost", "canceled", "costs was cancelled"),
        ("check", "hard_failed", "Organization policy check: the policy check ended with the status hard failed"),
        ("task", "failed", "These mandatory tasks did not succeed: scan"),
    ):
        before = (place / name).read_text()
        (place / name).write_text(content)
        ran = planner("plan")
        assert ran.code == 1 and problem in " ".join(ran.err.split()), name
        (place / name).write_text(before)
    for content, text in (("errored", "costs failed"), ("skipped_due_to_targeting", "-target")):
        (place / "cost").write_text(content)
        ran = planner("plan")
        assert ran.code == 0 and text in ran.out, content


@pytest.mark.parametrize(("name", "content"), [("check", "soft_failed"), ("task", "awaiting_override")])
def test_overrides(place: Path, planner: Any, name: str, content: str) -> None:
    (place / name).write_text(content)
    (place / "outcome").write_text("policy")
    planned = planner("plan")
    assert planned.code == 1 and "not overridden" in " ".join(planned.err.split())
    refused = planner("apply", stdin="yes\n")
    assert refused.code == 1 and "not overridden" in " ".join(refused.err.split())
    applied = planner("apply", stdin="override\nyes\n")
    assert applied.code == 0 and "Apply complete!" in applied.out
    assert planner("apply", "-auto-approve").code == 0


def test_refresh_runs_there(place: Path, planner: Any) -> None:
    ran = planner("refresh", "-no-color")
    assert ran.code == 0 and "Apply complete!" in ran.out


def test_a_run_that_does_not_begin_in_time(place: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "outcome").write_text("waits")
    monkeypatch.setattr(ServerRun, "_log", lambda run, part: iter(lambda: run.pause(0), object()))
    ran = planner("plan", "-lock-timeout=1ms")
    assert ran.code == 1 and "within -lock-timeout, so it was cancelled" in " ".join(ran.err.split())


def test_an_import_has_the_variables_of_the_workspace(place: Path, planner: Any) -> None:
    (place / "main.tf").write_text(
        (place / "main.tf").read_text()
        + """variable "text" {}
variable "secret" {}
resource "terraform_data" "a" {}
output "kept" { value = [var.a, var.text] }
"""
    )
    ran = planner("import", "-input=false", "terraform_data.a", "x")
    assert ran.code == 0, ran.err
    assert "Value for var.secret unavailable" in ran.out
    assert json.loads(planner("output", "-json", "kept").out) == [2, "2"]


def test_the_directory_to_upload() -> None:
    assert str(upload_root("/a/b/c", "b/c")) == "/a" and str(upload_root("/a/b/c", "x")) == "/a/b/c"
    assert str(upload_root("/b/c", "/b/c/")) == "/" and str(upload_root("/a/b/c", "")) == "/a/b/c"


def test_an_interrupt_cancels_the_run(place: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def interrupted(run: ServerRun, tries: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ServerRun, "pause", interrupted)
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


CAUSED = """
variable "image" {
  default = "v1"
}

variable "password" {
  default   = "hush-hush"
  sensitive = true
}

resource "terraform_data" "a" {
  input = var.image
}

resource "terraform_data" "b" {
  input = terraform_data.a.output
}

resource "terraform_data" "c" {
  triggers_replace = [var.password]
}
"""


def redacted(value: Any, sensitive: Any) -> Any:
    if sensitive is True:
        return "redacted"
    if isinstance(value, dict) and isinstance(sensitive, dict):
        return {name: redacted(item, sensitive.get(name)) for name, item in value.items()}
    if isinstance(value, list) and isinstance(sensitive, list):
        return [redacted(item, of) for item, of in zip(value, sensitive, strict=True)]
    return value


def test_causes_of_plans_that_the_server_has_as_documents(place: Path, planner: Any) -> None:
    """Only causes that evaluating confirms are printed: not of what is redacted, nor without a former version."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(place)]
    head = (
        (place / "main.tf").read_text().partition('variable "a"')[0].replace("it-runs-there", "structured-runs-there")
    )
    local = place / "local"
    local.mkdir()
    (local / "main.tf").write_text(CAUSED)
    (place / "main.tf").write_text(head + CAUSED)
    assert planner("init", "-input=false", "-reconfigure").code == 0
    for words in (["init", "-q"], ["add", "main.tf"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    library.load(local).plan().apply()
    assert planner("state", "push", "-force", "local/terraform.tfstate").code == 0
    (place / "main.tf").write_text(head + CAUSED.replace('"v1"', '"v2"').replace("hush-hush", "other-secret"))
    (local / "main.tf").write_text(CAUSED.replace('"v1"', '"v2"').replace("hush-hush", "other-secret"))
    document = library.load(local).plan().to_json()
    for entry in document["resource_changes"]:
        change = entry["change"]
        change["before"] = redacted(change["before"], change.get("before_sensitive"))
        change["after"] = redacted(change["after"], change.get("after_sensitive"))
    document["variables"]["password"]["value"] = "redacted"
    (place / "plan.json").write_text(json.dumps(document))
    ran = planner("plan", "-no-color", "-explain=line", "-since=HEAD")
    assert ran.code == 0 and 'Causes: [1] var.image "v1" -> "v2"' in " ".join(ran.out.split()), ran.out
    assert ran.out.count("# because [1] var.image") == 2 and ran.out.count("because") == 2  # not of the replacement
    assert "hush" not in ran.out and "other-secret" not in ran.out and "var.password" not in ran.out
    (place / ".git").rename(place / "git")
    assert "because" not in planner("plan", "-no-color", "-explain=line").out
    (place / "git").rename(place / ".git")
    variables = document.pop("variables")  # those of the server count, whatever the defaults are
    (place / "plan.json").write_text(json.dumps(document))
    assert "because" not in planner("plan", "-no-color", "-explain=line", "-since=HEAD").out
    document["variables"] = variables | {"password": {"value": "other-secret"}}
    (place / "main.tf").write_text((place / "main.tf").read_text().replace("  sensitive = true\n", ""))
    (place / "plan.json").write_text(json.dumps(document))
    assert "because [1] var.image" in planner("plan", "-no-color", "-explain=line", "-since=HEAD").out
    document.update(variables=variables, resource_drift=document["resource_changes"])
    (place / "plan.json").write_text(json.dumps(document))
    assert "because" not in planner("plan", "-no-color", "-explain=line", "-since=HEAD").out
