"""`-since=REF`: read by the commands that name causes, and checked before anything is planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from git.test_git_tree import committed, git, snapshot, write

Run = Callable[..., Any]
COMMANDS = ("plan", "plan -json", "why", "explore -out=page.html", "what-if -destroy", "batch plan", "stacks plan")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ref", ["mian", "", "--all"])
def test_an_unknown_revision_is_an_error_before_anything_is_planned(
    command: str, ref: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, {"main.tf": 'resource "terraform_data" "a" {}', "a.tfcomponent.hcl": ""}, {})
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ran = planner(*command.split(), f"-since={ref}")
    assert ran.code == 1
    assert "Cannot read the revision" in ran.out + ran.err
    assert "terraform_data" not in ran.out
    assert ('Did you mean "main"?' in (ran.out + ran.err).replace("\\", "")) == (ref == "mian")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["plan", "plan -causes", "why", "what-if -destroy", "explore -out=page.html"])
def test_a_known_revision_is_accepted(
    command: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, {"main.tf": 'resource "terraform_data" "a" {}'}, {})
    monkeypatch.chdir(tmp_path)
    ran = planner(*command.split(), "-since=main")
    assert ran.code == 0, ran.out + ran.err


CONFIGURATION = {
    "main.tf": (
        'variable "image" {}\n'
        'locals { tag = "app:${var.image}" }\n'
        'resource "terraform_data" "local" { input = local.tag }\n'
        'resource "terraform_data" "file" { input = file("motd.txt") }\n'
        'resource "terraform_data" "set" { for_each = fileset("set", "*") }\n'
        'resource "terraform_data" "same" { input = length(var.image) }\n'
        'module "m" { source = "./m" }\n'
    ),
    "m/main.tf": 'resource "terraform_data" "x" { input = "one" }\n',
    "terraform.tfvars": 'image = "v1"\n',
    "motd.txt": "one",
    "set/a": "",
    ".gitignore": ".terraform\n*.tfstate*\n",
}
EDITS = {
    "terraform.tfvars": 'image = "v2"\n',
    "motd.txt": "two",
    "set/b": "",
    "m/main.tf": 'resource "terraform_data" "x" { input = "two" }\n',
}
CAUSES = {
    "terraform_data.local": ['var.image "v1" "v2" terraform.tfvars:1'],
    "terraform_data.file": ["file motd.txt   main.tf:4"],
    'terraform_data.set["b"]': ["file set/b   main.tf:5"],
    "module.m.terraform_data.x": ['the text of module.m.terraform_data.x.input "one" "two" m/main.tf:1'],
}


@pytest.mark.parametrize("situation", ["-since", "uncommitted", "pull request", "pull request in a shallow clone"])
def test_causes_without_a_record_are_those_since_a_revision(
    situation: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a state that another program wrote."""
    root = committed(tmp_path / "r", CONFIGURATION, {})
    monkeypatch.chdir(root)
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    (root / ".terraform.tfstate.applied.json").unlink()
    write(root, EDITS)
    options = ["-since=main"] if situation == "-since" else []
    if situation.startswith("pull request"):
        git(root, "checkout", "-qb", "topic")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "topic")
        monkeypatch.setenv("GITHUB_BASE_REF", "main")
        git(root, "update-ref", "refs/remotes/origin/main", "main")
    if situation.endswith("shallow clone"):
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "clone")
        git(tmp_path / "clone", "fetch", "-q", "--depth=1", "origin", "+main:refs/remotes/origin/main")
        for name in (".terraform", "terraform.tfstate"):
            (root / name).rename(tmp_path / "clone" / name)
        monkeypatch.chdir(tmp_path / "clone")
    before = snapshot(Path.cwd())
    ran = planner("plan", "-json", "-explain=full", *options)
    assert ran.code == 0, ran.out
    lines = [json.loads(line) for line in ran.out.splitlines()]
    changes = {line["change"]["resource"]["addr"]: line["change"] for line in lines if line["type"] == "planned_change"}
    assert {name: list(map(words_of, change["root_causes"])) for name, change in changes.items()} == CAUSES
    assert all(change["because_is_certain"] for change in changes.values())
    assert snapshot(Path.cwd()) == before


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_variable_that_an_option_sets_had_its_former_value(
    is_recorded: bool, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the last apply. Where that is not on record, -var may have been given then, too."""
    root = committed(tmp_path / "r", {k: v for k, v in CONFIGURATION.items() if not k.startswith("m/")}, {})
    (root / "main.tf").write_text(CONFIGURATION["main.tf"].partition("module")[0])
    git(root, "commit", "-qam", "without a module")
    monkeypatch.chdir(root)
    assert planner("apply", "-auto-approve", *(["-var=image=v0"] if is_recorded else [])).code == 0
    if not is_recorded:
        (root / ".terraform.tfstate.applied.json").unlink()
    out = planner("why", "-since=HEAD", "-var=image=v3", "terraform_data.local").out
    assert ('  <- var.image "v0" -> "v3" (-var=image)' in out) == is_recorded


def words_of(root: dict[str, Any]) -> str:
    place = f"{root['source']['file']}:{root['source']['line']}"
    return " ".join([root["what"], root.get("before", ""), root.get("value", ""), place])


def test_the_only_object_that_left_the_state(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outputs show that the configuration was applied before."""
    text = 'resource "terraform_data" "a" {}\noutput "o" { value = 1 }\n'
    monkeypatch.chdir(committed(tmp_path / "r", {"main.tf": text, ".gitignore": "*.tfstate*\n"}, {}))
    for words, kind in (("", "create"), ("state rm terraform_data.a", "not-in-state")):
        if words:
            assert planner("apply", "-auto-approve").code == 0
            assert planner(*words.split()).code == 0
        ran = planner("plan", "-since=HEAD", "-json", "-explain=full")
        roots = [c for line in ran.out.splitlines() for c in json.loads(line).get("change", {}).get("root_causes", [])]
        assert [root["kind"] for root in roots] == [kind], ran.out


def test_a_module_whose_former_version_is_not_installed(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source is the cause of what changes in it, and that it is not compared is said once."""
    inner = (
        'variable "b" {}\n'
        'resource "terraform_data" "a" { input = "one" }\n'
        'resource "terraform_data" "b" { input = var.b }\n'
    )
    module = committed(tmp_path / "module", {"main.tf": inner}, {"main.tf": inner.replace('"one"', '"two"')})
    git(module, "tag", "v1")
    git(module, "commit", "-qam", "two")
    git(module, "tag", "v2")
    main = f'module "m" {{\n  source = "git::file://{module}?ref=v1"\n  b = "b1"\n}}\n'
    root = committed(tmp_path / "r", {"main.tf": main, ".gitignore": ".terraform\n*.tfstate*\n"}, {})
    monkeypatch.chdir(root)
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    (root / ".terraform.tfstate.applied.json").unlink()
    write(root, {"main.tf": main.replace("ref=v1", "ref=v2")})
    assert planner("init").code == 0
    note = "Note: The former version of module.m is not installed, so nothing in it is compared."
    for words in ("why", "plan -causes", "plan -explain=line -no-color", "plan -explain=full -no-color"):
        out = planner(*words.split(), "-since=main").out
        assert out.count(note) == 1 and "module.m.source" in out, out
    out = planner("explore", "-out=page.html", "-since=main")
    assert (out.out + out.err).count("The former version of module.m is not installed") == 1


SUM = """
variable "a" { default = 1 }
variable "b" { default = 1 }
resource "terraform_data" "x" { input = [var.a + var.b] }
"""


def test_a_base_that_is_not_in_the_clone_is_noted_once(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = SUM
    root = committed(tmp_path, {"main.tf": main, ".gitignore": ".terraform\n*.tfstate*\n"}, {})
    monkeypatch.chdir(root)
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    out = planner("why").out
    assert "Note" not in out, out  # there are only creations
    assert planner("apply", "-auto-approve").code == 0
    (root / ".terraform.tfstate.applied.json").unlink()
    write(root, {"main.tf": main.replace('"a" { default = 1', '"a" { default = 2')})
    for words in ("why", "plan -causes", "plan -explain=line -no-color", "plan -explain=full -no-color"):
        out = planner(*words.split()).out
        assert out.count("Note: release (GITHUB_BASE_REF) cannot be read.") == 1, out


def test_a_record_that_is_encrypted_is_noted_once(
    tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = SUM
    (tmp_path / "main.tf").write_text(main)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANNER_RECORD_KEY", "correct-horse-battery-staple")
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(main.replace('"a" { default = 1', '"a" { default = 2'))
    assert "Note" not in planner("why").out
    monkeypatch.setenv("PLANNER_RECORD_KEY", "another-horse-battery-staple")
    assert planner("why").out.count("Note: The record of the last apply is encrypted, and") == 1


OUTSIDE = {
    "-var": (["-var=image=v2"], {}, ""),
    "environment": ([], {}, "v2"),
    "a file that git ignores": ([], {"x.auto.tfvars": 'image = "v2"\n'}, ""),
}


@pytest.mark.parametrize("place", OUTSIDE)
def test_a_value_that_git_does_not_know_is_a_cause_where_nothing_is_on_record(
    place: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for unchanged, so that the state would have been changed outside."""
    words, files, variable = OUTSIDE[place]
    ignored = {".gitignore": "*.tfstate*\n*.auto.tfvars\n.terraform\n"}
    text = 'variable "image" {\n  default = "v1"\n}\nresource "terraform_data" "a" { input = "app:${var.image}" }\n'
    committed(tmp_path, {"main.tf": text, "b.tf": "", **ignored}, {"b.tf": "# edited\n"})
    monkeypatch.chdir(tmp_path)
    planner("apply", "-auto-approve")
    for record in tmp_path.glob("*.tfstate.*"):
        record.unlink()  # as after an apply by OpenTofu
    write(tmp_path, files)
    if variable:
        monkeypatch.setenv("TF_VAR_image", variable)
    lines = map(json.loads, planner("plan", "-json", "-explain=full", *words).out.splitlines())
    (change,) = (line["change"] for line in lines if line["type"] == "planned_change")
    assert [cause["what"] for cause in change["root_causes"]] == ["var.image"]
