"""What is around a plan as facts for policies: the run, providers, versions, origins and what was read; and that a
saved plan repeats its verdict."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conformance import forked
from provider.plugins import SOURCE, override

from planner.foundation.vocabulary.release import RELEASE
from planner.logic.model.plan import PolicyRecord
from planner.operations.plan_context import head_commit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
AROUND = f"""
terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
  backend "local" {{
    path = "states/this.tfstate"
  }}
}}
variable "prefix" {{ default = "acme-" }}
variable "owner" {{}}
variable "size" {{ type = number }}
provider "test" {{
  prefix = var.prefix
}}
provider "test" {{
  alias  = "later"
  prefix = terraform_data.name.output
}}
resource "terraform_data" "name" {{
  input = "name"
}}
resource "test_thing" "a" {{
  name = "a"
}}
resource "test_thing" "b" {{
  provider = test.later
  name     = "b"
}}
data "test_thing" "d" {{
  id = "there"
}}
moved {{
  from = test_thing.old
  to   = test_thing.a
}}
import {{
  to = terraform_data.known
  id = "the-id"
}}
resource "terraform_data" "known" {{}}
"""
LOCK = """
provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.1"
  constraints = "~> 3.0"
}
"""
CONFIG = f'provider["{SOURCE}"]'


class Place:
    """A working directory with a provider plugin, a lock file, files of variables and a commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, code: int = 0) -> str:
        done = forked.run(words, self.folder, {**os.environ, "TF_VAR_size": "3", "TF_WORKSPACE": "prod"})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if "-json" in words else done.stdout + done.stderr

    def judged(self, rules: str, *words: str, code: int = 1) -> set[tuple[str, str, str]]:
        """What a policy says: (verdict, address, message)."""
        (self.folder / "policy.dl").write_text(rules)
        text = self.run("policy", "check", "-policy=policy.dl", "-json", *words, code=code)
        return {(f["verdict"], f["address"], f["message"]) for f in json.loads(text)["findings"]}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    world = override(monkeypatch, tmp_path, 6)
    (world / "there.json").write_text(json.dumps({"id": "there", "name": "found"}))
    folder = tmp_path / "project"
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text(COMMIT + "\n")
    (folder / "main.tf").write_text(AROUND)
    (folder / "who.auto.tfvars").write_text('owner = "data"\n')
    it = Place(folder)
    it.run("init")
    (folder / ".terraform.lock.hcl").write_text(LOCK)
    return it


def told(relation: str, *columns: str) -> str:
    """A rule that denies every row of a relation, named by its columns."""
    names = [f"C{i}" for i in range(len(columns))]
    shown = ' ++ "|" ++ '.join(names)
    return f'deny("{relation}", "it", {shown} ++ "") :- {relation}({", ".join(names)}).\n'


@pytest.mark.slow
def test_every_relation(place: Place) -> None:
    rules = "".join(
        (
            told("provider_instance", "config", "source", "alias", "key"),
            told("provider_argument", "config", "path", "value"),
            told("locked_provider", "source", "version", "constraint"),
            told("move_block", "from", "to"),
            told("import_block", "addr", "id"),
            told("backend", "type"),
            told("backend_argument", "path", "value"),
            told("variable_origin", "addr", "kind", "place"),
            told("run", "key", "value"),
            'deny("data", A, P ++ "=" ++ V) :- data_value(A, P, V), P = "name".\n',
            'deny("now", "it", "is a time") :- plan_time(T), matches(T, "^20..-..-..T..:..:..Z$").\n',
            'deny("reference", O, T ++ "|" ++ P) :- reference(O, T, P), P = "prefix".\n',
        )
    )
    said = place.judged(rules)
    assert {m for v, _, m in said if v == "deny"} >= {
        f"{CONFIG}|{SOURCE}||",
        f"{CONFIG}.later|{SOURCE}|later|",
        f"{CONFIG}|prefix|acme-",
        "registry.opentofu.org/hashicorp/null|3.2.1|~> 3.0",
        "test_thing.old|test_thing.a",
        "terraform_data.known|the-id",
        "local",
        "path|states/this.tfstate",
        "var.prefix|default|",
        "var.owner|auto_file|who.auto.tfvars",
        "var.size|environment|TF_VAR_size",
        "workspace|prod",
        "command|policy check",
        f"commit|{COMMIT}",
        f"version|{RELEASE}",
        "is a time",
    }
    assert ("deny", "data.test_thing.d", "name=found") in said
    assert ("deny", CONFIG, "var.prefix|prefix") in said
    assert any(m.startswith("user|") for _, _, m in said)


@pytest.mark.slow
def test_unknown_arguments_of_providers_stay_undecided_until_they_are_known(place: Place) -> None:
    rules = (
        'deny("prefix", C, "has the prefix name") :- provider_argument(C, "prefix", "name").\n'
        'warn("later", C, "is not known at " ++ P) :- unknown_after(C, P), provider_instance(C, _, _, _).\n'
        'warn("other", A, "looks at what else is not known") :- planned(A, "id", "nothing").\n'
    )
    said = {one for one in place.judged(rules, code=0) if one[1].startswith(CONFIG)}
    assert said == {
        ("undecided", f"{CONFIG}.later", f"is decided when {CONFIG}.later.prefix is known"),
        ("warn", f"{CONFIG}.later", "is not known at prefix"),
    }
    place.run("plan", "-out=it.plan", "-policy=policy.dl")
    refused = place.run("apply", "it.plan", code=1)
    assert "has the prefix name" in refused and "only after" not in refused
    assert '"acme-"' in (place.folder.parent / "world" / "configured").read_text()
    assert '"name"' not in (place.folder.parent / "world" / "configured").read_text()


def test_a_saved_plan_repeats_its_verdict(place: Place) -> None:
    rules = (
        told("run", "key", "value")
        + told("plan_time", "time")
        + told("locked_provider", "source", "version", "constraint")
        + told("variable_origin", "addr", "kind", "place")
    )
    (place.folder / "policy.dl").write_text(rules.replace("deny(", "warn("))
    place.run("plan", "-out=it.plan", "-policy=policy.dl")
    first = place.judged(rules.replace("deny(", "warn("), "-plan=it.plan", code=0)
    assert ("warn", "it", "command|plan") in first
    (place.folder / ".git" / "refs" / "heads" / "main").write_text("f" * 40)
    (place.folder / ".terraform.lock.hcl").write_text("")
    assert place.judged(rules.replace("deny(", "warn("), "-plan=it.plan", code=0) == first


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": "ref: refs/heads/main", "refs/heads/main": COMMIT}, COMMIT),
        ({"HEAD": COMMIT}, COMMIT),
        ({"HEAD": "ref: refs/heads/main", "packed-refs": f"# pack\n{COMMIT} refs/heads/main\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main", "commondir": "../common", "../common/refs/heads/main": COMMIT}, COMMIT),
        ({"HEAD": "ref: refs/../../secret", "../secret": COMMIT}, ""),
        ({"HEAD": "ref: refs/heads/none"}, ""),
        ({"HEAD": "nothing"}, ""),
        ({}, ""),
    ],
)
def test_the_commit_is_read_from_the_repository(tmp_path: Path, files: dict[str, str], commit: str) -> None:
    for name, text in files.items():
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "sub").mkdir()
    assert head_commit(str(tmp_path / "sub")) == commit


def test_the_commit_of_a_worktree_is_found(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "HEAD").write_text(COMMIT)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../git\n")
    assert head_commit(str(tmp_path / "tree")) == COMMIT


def test_records_of_older_plans_have_no_facts() -> None:
    older: dict[str, Any] = {"files": (), "overrides": (), "verdicts": ()}
    assert PolicyRecord(**older).facts == ()
