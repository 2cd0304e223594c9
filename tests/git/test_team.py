"""A team: homes and checkouts of their own, a state that they share. What one applied explains the plans of the others;
and so does git, for a state that another program wrote and for a pull request in a fresh clone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from conformance import forked
from git.test_git_tree import git, write
from state.backends.servers import SERVERS, block

FILES = {
    ".gitignore": ".terraform\n*.tfstate*\n",
    "terraform.tfvars": 'image = "v1"\nregions = ["a", "b"]\nzone = "z1"\n',
    "main.tf": """
variable "image" {}
variable "regions" { type = set(string) }
variable "zone" {}
locals { tag = "app:${var.image}" }
resource "terraform_data" "web" { input = local.tag }
resource "terraform_data" "motd" { input = file("motd.txt") }
resource "terraform_data" "zone" {
  input            = "fixed"
  triggers_replace = var.zone
}
resource "terraform_data" "same" { input = length(var.image) }
module "region" {
  source   = "./region"
  for_each = var.regions
  name     = each.key
  image    = var.image
}
output "tag" { value = local.tag }
""",
    "region/main.tf": """
variable "name" {}
variable "image" {}
resource "terraform_data" "app" { input = "${var.name}-${var.image}" }
resource "terraform_data" "text" { input = "one" }
""",
    "motd.txt": "hello",
}
EDITS = {
    "terraform.tfvars": 'image = "v2"\nregions = ["b", "c"]\nzone = "z2"\n',
    "motd.txt": "goodbye",
    "region/main.tf": FILES["region/main.tf"].replace('"one"', '"two"'),
}
IMAGE = 'var.image "v1" -> "v2"'
CAUSES = {
    "terraform_data.web": {IMAGE},
    "terraform_data.motd": {"file motd.txt"},
    "terraform_data.zone": {'var.zone "z1" -> "z2"'},
    'module.region["b"].terraform_data.app': {IMAGE},
    'module.region["b"].terraform_data.text': {'the text of module.region["b"].terraform_data.text.input'},
    'module.region["a"].terraform_data.app': {"var.regions"},
    'module.region["a"].terraform_data.text': {"var.regions"},
    'module.region["c"].terraform_data.app': {"var.regions"},
    'module.region["c"].terraform_data.text': {"var.regions"},
}


def resource(name: str, value: str, key: str = "", **more: Any) -> dict[str, Any]:
    """An entry of a state as OpenTofu writes it."""
    module = {"module": f'module.region["{key}"]'} if key else {}
    given = {"value": value, "type": "string"}
    attributes = {"id": f"id-{key}-{name}", "input": given, "output": given, "triggers_replace": None, **more}
    return {
        **module,
        "mode": "managed",
        "type": "terraform_data",
        "name": name,
        "provider": 'provider["terraform.io/builtin/terraform"]',
        "instances": [{"schema_version": 0, "attributes": attributes, "sensitive_attributes": []}],
    }


def length() -> dict[str, Any]:
    number = {"value": 2, "type": "number"}
    return resource("same", "", input=number, output=number)


STATE = {
    "version": 4,
    "terraform_version": "1.10.0",
    "serial": 3,
    "lineage": "5f2b0d3c-7f51-49a3-b4f2-6dd0a7a6e3a1",
    "outputs": {"tag": {"value": "app:v1", "type": "string"}},
    "resources": [
        resource("motd", "hello"),
        length(),
        resource("web", "app:v1"),
        resource("zone", "fixed", triggers_replace={"value": "z1", "type": "string"}),
        *(resource(name, value, key) for key in "ab" for name, value in (("app", f"{key}-v1"), ("text", "one"))),
    ],
    "check_results": None,
}


@frozen
class Member:
    """A checkout, with the environment of its user."""

    checkout: Path
    environment: dict[str, str]

    def run(self, *words: str) -> str:
        ran = forked.run(words, self.checkout, self.environment, "")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def causes(self, *options: str) -> dict[str, set[str]]:
        """The root causes of all changes, which are certain."""
        lines = [json.loads(line) for line in self.run("plan", "-json", "-explain=full", *options).splitlines()]
        changes = {x["change"]["resource"]["addr"]: x["change"] for x in lines if x["type"] == "planned_change"}
        assert all(change["because_is_certain"] for change in changes.values())
        return {name: set(map(cause, change["root_causes"])) for name, change in changes.items()}


def cause(root: dict[str, Any]) -> str:
    if root["what"] == "var.regions" or "before" not in root or root.get("kind") != "variable":
        return str(root["what"])
    return f"{root['what']} {root['before']} -> {root['value']}"


def member(folder: Path, origin: Path, environment: dict[str, str], *options: str) -> Member:
    """A user with a home of their own and a fresh clone."""
    home = folder / "home"
    home.mkdir(parents=True)
    git(folder, "clone", "-q", *options, f"file://{origin}", "checkout")
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    return Member(folder / "checkout", {**os.environ, **own, "TF_CLI_CONFIG_FILE": "/dev/null", **environment})


def origin_with(folder: Path, files: dict[str, str]) -> Path:
    """The repository of the team, with the files at main."""
    git(folder, "init", "-q", "--bare", "origin.git")
    git(folder, "init", "-q", "seed")
    write(folder / "seed", files)
    git(folder / "seed", "add", "-A")
    git(folder / "seed", "commit", "-qm", "one")
    git(folder / "seed", "push", "-q", f"file://{folder}/origin.git", "HEAD:refs/heads/main")
    return folder / "origin.git"


@pytest.mark.parametrize("kind", ["pg", pytest.param("s3", marks=pytest.mark.slow), "local"])
def test_what_one_applied_explains_the_plan_of_another(kind: str, tmp_path: Path) -> None:
    environment: dict[str, str] = {}
    settings: dict[str, Any] = {"path": str(tmp_path / "shared.tfstate")}
    if kind != "local":
        server = SERVERS[kind]()
        environment, settings = dict(server.environment), server.settings()
    origin = origin_with(tmp_path, {**FILES, "backend.tf": block(kind, settings)})
    one, two = (member(tmp_path / name, origin, environment) for name in ("one", "two"))
    one.run("init")
    one.run("apply", "-auto-approve")
    git(tmp_path / "two/checkout", "checkout", "-qb", "topic")
    write(two.checkout, EDITS)
    git(two.checkout, "commit", "-qam", "topic")  # so that git does not help
    two.run("init")
    assert two.causes() == CAUSES
    assert two.causes("-since=main") == CAUSES
    two.run("apply", "-auto-approve", "-target=terraform_data.web")
    write(one.checkout, EDITS)
    assert one.causes() == {name: roots for name, roots in CAUSES.items() if name != "terraform_data.web"}


CI = {
    "GitHub": {"GITHUB_BASE_REF": "main"},
    "GitLab": {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "BASE"},
    "Buildkite": {"BUILDKITE_PULL_REQUEST_BASE_BRANCH": "main"},
    "Azure Pipelines": {"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main"},
    "Atlantis": {"BASE_BRANCH_NAME": "main"},
}


@pytest.mark.parametrize("situation", ["-since", "uncommitted", *CI])
def test_git_explains_plans_of_a_state_that_another_program_wrote(situation: str, tmp_path: Path) -> None:
    """In CI, in a fresh clone of the pull request, which is checked out as GitHub does, or as a branch."""
    (tmp_path / "shared.tfstate").write_text(json.dumps(STATE, indent=2) + "\n", "utf-8")
    origin = origin_with(tmp_path, {**FILES, "backend.tf": block("local", {"path": str(tmp_path / "shared.tfstate")})})
    author = member(tmp_path / "author", origin, {})
    base = git(author.checkout, "rev-parse", "HEAD")
    if situation in CI:
        git(author.checkout, "checkout", "-qb", "topic")
        write(author.checkout, EDITS)
        git(author.checkout, "commit", "-qam", "topic")
        git(author.checkout, "push", "-q", "origin", "topic")
        environment = {name: value.replace("BASE", base) for name, value in CI[situation].items()}
        user = member(tmp_path / "ci", origin, environment)
        if situation == "GitHub":
            git(user.checkout, "merge", "-q", "--no-ff", "-m", "Merge", "origin/topic")
            git(user.checkout, "checkout", "-q", "--detach")
        else:
            git(user.checkout, "checkout", "-q", "topic")
            git(user.checkout, "branch", "-qD", "main")
    else:
        user = member(tmp_path / "user", origin, {})
        write(user.checkout, EDITS)
    user.run("init")
    assert user.causes(*(["-since=main"] if situation == "-since" else [])) == CAUSES
    why = user.run("why", *(["-since=main"] if situation == "-since" else []))
    assert f"{IMAGE} (terraform.tfvars:1)" in why and "may be a cause" not in why
