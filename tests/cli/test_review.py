"""Reviews that commands write: their contents for changes, failures, applies and policies; links; wrong flags."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Ran
from planner.render.review.of_plan import recordable, recorded_review
from planner.render.review.subject import ReviewSubject

MODULE = """
variable "image" {}
variable "password" {
  sensitive = true
  default   = "very-secret"
}
resource "terraform_data" "db" {
  triggers_replace = [var.image]
  input            = { image = var.image, password = var.password }
}
output "image" { value = var.image }
"""
STATEFUL = '[packs."planner.changes"]\npolicies = []\n[packs."planner.changes".parameters]\n'
STATEFUL += 'stateful_type = ["terraform_data"]\n'


@pytest.fixture
def folder(tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_REPOSITORY", "CI_PROJECT_URL", "BITBUCKET_GIT_HTTP_ORIGIN", "BUILD_REPOSITORY_URI"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "main.tf").write_text(MODULE)
    (tmp_path / "a.auto.tfvars").write_text('image = "v1"\n')
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "a.auto.tfvars").write_text('image = "v2"\n')
    return tmp_path


def review(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return document


def test_a_plan(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / ".planner").mkdir(exist_ok=True)
    (folder / ".planner/policy.toml").write_text(STATEFUL)
    link = "-link=https://host.test/{file}#L{line}"
    assert planner("plan", "-review=r.json", "-markdown=r.md", "-html=r.html", link, "-out=p").code == 0
    document = review(folder)
    assert [(one["kind"], one["objects"]) for one in document["decisions"]] == [
        ("replaces_stateful", ["terraform_data.db"])
    ]
    (one,) = document["causes"]
    assert (one["what"], one["before"], one["after"]) == ("var.image", '"v1"', '"v2"')
    assert (one["link"], one["sets_off"]) == ("https://host.test/a.auto.tfvars#L1", {"replace": 1, "output": 1})
    assert len(document["about"]["plan_digest"]) == 64
    texts = [(folder / name).read_text() for name in ("r.json", "r.md", "r.html")]
    assert [text.count("very-secret") for text in texts] == [0, 0, 0]
    assert "**replaces 1** (1 holds data), 1 output |" in texts[1]
    planner("show", "-review=s.json", link, "p")
    shown = json.loads((folder / "s.json").read_text())
    assert (shown["causes"], shown["changes"]) == (document["causes"], document["changes"])


def test_an_apply_has_its_result(folder: Path, planner: Callable[..., Ran]) -> None:
    assert planner("apply", "-auto-approve", "-review=r.json").code == 0
    document = review(folder)
    assert document["result"] == {"succeeded": True, "added": 1, "changed": 0, "destroyed": 1}
    assert document["title"] == "Applied: 1 added, 0 changed, 1 destroyed."
    assert [one["what"] for one in document["causes"]] == ["var.image"]


def test_an_apply_has_the_outputs_that_were_not_known_before(folder: Path, planner: Callable[..., Ran]) -> None:
    more = 'output "id" { value = [terraform_data.db.id] }\noutput "hidden" {\n  value = terraform_data.db.id\n'
    (folder / "main.tf").write_text(f"{MODULE}{more}  sensitive = true\n}}\n")
    assert planner("apply", "-auto-approve", "-review=r.json").code == 0
    after = {one["name"]: one["after"] for one in review(folder)["outputs"]}
    assert after["image"] == '"v2"' and after["id"].startswith('["') and after["hidden"] == "(sensitive value)"


def test_a_saved_plan_keeps_its_causes(folder: Path, planner: Callable[..., Ran]) -> None:
    """As in another clone, where neither the record of the last apply nor the base of a pull request is at hand."""
    words = ("-review=r.json", "-link=https://one.test/{file}#L{line}")
    assert planner("plan", *words, "-out=p").code == 0
    made = review(folder)
    Path(".terraform.tfstate.applied.json").unlink()
    assert planner("show", *words, "p").code == 0
    shown = review(folder)
    assert {name: one for name, one in shown.items() if name != "diagnostics"} == {
        name: one for name, one in made.items() if name != "diagnostics"
    }
    assert planner("show", "-only=create", *words, "p").code == 0
    assert review(folder)["changes"] == []
    assert planner("apply", "-review=r.json", "-link=https://two.test/{file}#L{line}", "p").code == 0
    (one,) = (applied := review(folder))["causes"]
    assert (one["what"], one["before"], one["certain"]) == ("var.image", '"v1"', True)
    assert one["link"] == "https://two.test/a.auto.tfvars#L1" and applied["title"].startswith("Applied: 1 added")
    assert "very-secret" not in json.dumps(applied)


@pytest.mark.parametrize("name", ["causes", "changes", "about", "policies"])
def test_damaged_records_are_no_reviews(folder: Path, planner: Callable[..., Ran], name: str) -> None:
    assert planner("plan", "-review=r.json").code == 0
    record = recordable(review(folder))
    assert recorded_review(record, ReviewSubject()) is not None
    for damage in (None, [{"link": "javascript:alert(1)"}], {"serial": "x"}, 1):
        assert recorded_review({**record, name: damage}, ReviewSubject()) is None
    assert recorded_review([], ReviewSubject()) is None


def test_a_plan_that_fails_has_a_review(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "a.auto.tfvars").write_text("")
    assert planner("plan", "-review=r.json", "-markdown=r.md", "-input=false").code == 1
    document = review(folder)
    assert document["title"] == "Planning failed."
    assert [(one["severity"], one["file"]) for one in document["diagnostics"]] == [("error", "main.tf")]
    assert "No value for required variable" in (folder / "r.md").read_text()


def test_a_verdict(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "p.dl").write_text('deny("mine", A, "no") :- action(A, "delete-then-create").\n')
    assert planner("policy", "check", "-policy=p.dl", "-review=r.json").code == 1
    document = review(folder)
    assert document["kind"] == "policy"
    assert document["decisions"] == [
        {"kind": "deny", "text": "denied by policy, so the apply is blocked", "objects": ["mine: terraform_data.db"]}
    ]


LINKS = [
    (
        {"GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "abc"},
        "https://github.com/o/r/blob/abc/a.auto.tfvars#L1",
    ),
    (
        {"CI_PROJECT_URL": "https://gitlab.test/o/r", "CI_COMMIT_SHA": "abc"},
        "https://gitlab.test/o/r/-/blob/abc/a.auto.tfvars#L1",
    ),
    (
        {"BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.org/o/r", "BITBUCKET_COMMIT": "abc"},
        "https://bitbucket.org/o/r/src/abc/a.auto.tfvars#lines-1",
    ),
    (
        {"BUILD_REPOSITORY_URI": "https://dev.azure.test/r", "BUILD_SOURCEVERSION": "abc"},
        "https://dev.azure.test/r?path=/a.auto.tfvars&version=GCabc&line=1&lineEnd=1&lineStartColumn=1&lineEndColumn=1",
    ),
]


@pytest.mark.parametrize(("environment", "address"), LINKS)
def test_lines_are_links_on_code_hosts(environment: dict[str, str], address: str) -> None:
    from planner.render.review.links import links

    assert links("", "/", environment).to("a.auto.tfvars", 1) == address
    assert links("", "/", environment).to("../outside.tf", 1) == ""


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-link=javascript:alert(1)//{file}", "Wrong value for option -link"),
        ("-link=https://x.test/{name}", "Wrong value for option -link"),
        ("-page=javascript:alert(1)", "Option -page needs an address"),
        ("-markdown=-", "A review needs a file"),
        ("-markdown=nowhere/r.md", "Cannot write the review"),
    ],
)
def test_wrong_flags(folder: Path, planner: Callable[..., Ran], flag: str, message: str) -> None:
    ran = planner("plan", "-review=r.json", flag)
    assert ran.code == 1
    assert message in ran.err


STEPS = """
variable "size" {}
resource "terraform_data" "done" { input = var.size }
resource "terraform_data" "job" {
  triggers_replace = var.size
  provisioner "local-exec" { command = "test ${var.size} = 1" }
}
resource "terraform_data" "checked" {
  input = var.size
  lifecycle {
    postcondition {
      condition     = self.output == "1"
      error_message = "It is not 1."
    }
  }
}
resource "terraform_data" "guarded" {
  input = var.size
  lifecycle {
    precondition {
      condition     = terraform_data.done.output == "1"
      error_message = "It was not 1."
    }
  }
}
resource "terraform_data" "after" { input = "${var.size} ${terraform_data.job.id}" }
"""
OUTCOMES = {
    "done": "done",
    "job": "tainted",
    "checked": "unmet",
    "guarded": "failed",
    "after": "not_reached",
}


def test_a_failed_apply_has_the_outcome_of_each_object(
    tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.tf").write_text(STEPS)
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve", "-var=size=1").code == 0
    assert planner("plan", "-var=size=2", "-out=p", "-review=r.json").code == 0
    assert not any("result" in one for one in review(tmp_path)["changes"])
    assert planner("apply", "-review=r.json", "-markdown=r.md", "p").code == 1  # with the review in the plan's file
    changes = {one["address"].partition(".")[2]: one["result"] for one in review(tmp_path)["changes"]}
    assert {name: one["outcome"] for name, one in changes.items()} == OUTCOMES
    assert {name for name, one in changes.items() if not one["error"]} == {"done", "after"}
    assert "It was not 1" in changes["guarded"]["error"] and "local-exec" in changes["job"]["error"]
    assert [one["kind"] for one in review(tmp_path)["decisions"]] == [
        f"result_{kind}" for kind in ("tainted", "failed", "unmet", "not_reached", "done")
    ]
    assert "planned effects" in (tmp_path / "r.md").read_text()


def test_a_removed_block_has_its_line_at_the_base(
    tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.tf").write_text(
        '# a remark\nresource "terraform_data" "a" {}\nmodule "m" {\n  source = "./m"\n}\n'
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "m/m.tf").write_text('resource "terraform_data" "b" {}\n')
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_REPOSITORY", "CI_PROJECT_URL", "BITBUCKET_GIT_HTTP_ORIGIN", "BUILD_REPOSITORY_URI"):
        monkeypatch.delenv(name, raising=False)
    who = ("-c", "user.name=n", "-c", "user.email=e@example.com")
    for words in (("init", "-q"), ("add", "main.tf", "m"), (*who, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text("")
    assert planner("plan", "-review=r.json", "-link=https://h.test/{revision}/{file}#{line}").code == 0
    link = f"https://h.test/{commit}/main.tf"
    assert {(one["kind"], one["what"], one["commit"], one["link"]) for one in review(tmp_path)["causes"]} == {
        ("removed_block", "terraform_data.a", commit, f"{link}#2"),
        ("removed_block", "module.m", commit, f"{link}#3"),
    }


def test_objects_of_which_no_rule_knows_whether_they_hold_data(
    folder: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planner("plan", "-review=r.json").code == 0
    (one,) = review(folder)["changes"]
    assert (one["data"], review(folder)["policies"]["judged"]) == ("none", [])
    (folder / "p.dl").write_text('deny("mine", A, "no") :- action(A, "update").\n')
    (folder / ".planner").mkdir(exist_ok=True)
    (folder / ".planner/policy.toml").write_text(STATEFUL)
    assert planner("plan", "-policy=p.dl", "-review=r.json").code == 0
    (line,) = review(folder)["policies"]["judged"]
    assert line.startswith("Policies checked: mine, but not protect_stateful") and "none denies" not in line
    (one,) = review(folder)["changes"]
    assert (one["data"], one["data_by"]) == ("holds", "stateful_type")


def test_an_undecided_verdict_has_the_value_that_it_depends_on(
    tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "b" { input = terraform_data.a.id }\n'
    )
    (tmp_path / "p.dl").write_text(
        'deny("input", A, "no") :- planned(A, "input", K), K != "x".\ndeny("id", A, "no") :- planned(A, "id", "y").\n'
    )
    monkeypatch.chdir(tmp_path)
    assert planner("plan", "-policy=p.dl", "-review=r.json").code == 0
    waits = {
        (
            *(one["code"], wait["address"], wait["path"], wait["expression"], wait["known"]),
            *(earlier["address"] for earlier in wait.get("settled_by", ())),
        )
        for one in review(tmp_path)["policies"]["findings"]
        for wait in one["waits_for"]
        if wait["address"] == "terraform_data.b"
    }
    assert waits == {
        ("input", "terraform_data.b", "input", "terraform_data.a.id", "before", "terraform_data.a"),
        ("id", "terraform_data.b", "id", "", "after"),
    }
