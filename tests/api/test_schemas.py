"""The JSON Schemas hold for what commands print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran
from jsonschema import Draft202012Validator

from planner.api.schemas import SCHEMAS, UNIT, schema
from planner.workflows.batch import shard_results

MODULE = """
variable "image" {
  default = "v1"
}

resource "terraform_data" "a" {
  input = var.image
}

resource "terraform_data" "b" {
  input            = terraform_data.a.id
  triggers_replace = [var.image]
}

output "image" {
  value = terraform_data.a.output
}
"""
POLICY = 'deny("x", A, "no") :- planned(A, "input", "v2").\nwarn("y", A, "id") :- planned(A, "id", V).\n'
V2 = "-var=image=v2"
SEVERAL = """
variable "image" {
  default = "v1"
}

variable "size" {
  default = 1
}

resource "terraform_data" "a" {
  input = "${var.image}\\n${var.size}"
}

resource "terraform_data" "b" {
  input            = [terraform_data.a.id, var.size]
  triggers_replace = [var.image]
  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "c" {
  input = "c"
}

resource "terraform_data" "many" {
  count = 6
  input = count.index == 0 ? var.image : var.size
}

resource "terraform_data" "old" {
}

output "both" {
  value = [terraform_data.a.input, terraform_data.b.id]
}
"""
EDITED = (
    SEVERAL.replace('"old"', '"moved"').replace('"c"\n}', "terraform_data.b.id\n}")
    + """
moved {
  from = terraform_data.old
  to   = terraform_data.moved
}
"""
)
VERDICTS = """
deny("x", A, "v2") :- planned(A, "input", V), contains(V, "v2").
warn("y", A, "replaced") :- acts(A, "delete").
deny("z", A, "id") :- planned(A, "output", "x").
deny("w", A, "either") :- planned(A, "input", V), V = "x".
deny("w", A, "either") :- planned(A, "input", V), V != "x".
"""
COMMANDS = [
    ("proof", ["why", "-json", V2, "terraform_data.b"]),
    ("proof", ["why", "-json", V2, "output.image"]),
    ("proof", ["why", "-json", "terraform_data.b", "terraform_data.a"]),
    ("proof", ["why", "-json", "-not", "terraform_data.a", "terraform_data.b"]),
    ("proof", ["why", "-json", V2, "-not", "replace", "terraform_data.a"]),
    ("proof", ["why", "-json", V2, "unknown", "terraform_data.b.id"]),
    ("proof", ["why", "-json", V2, "-policy=p.dl", "deny", "x"]),
    ("fixes", ["why", "-json", "-fix", V2, "terraform_data.b"]),
    ("fixes", ["why", "-json", "-fix", "terraform_data.b", "terraform_data.a"]),
    ("causes", ["why", "-json", V2]),
    ("list", ["why", "-json", V2, "unknown"]),
    ("what-if", ["what-if", "-json", V2]),
    ("query", ["query", "-json", "edge(X, Y)"]),
    ("query", ["query", "-json", V2, 'action(X, "update")']),
    ("graph", ["graph", "-json"]),
    ("verdict", ["policy", "check", "-format=json", "-policy=p.dl", V2]),
    ("validate", ["validate", "-json"]),
    ("advice", ["suggest", "-json", V2]),
    ("rules", ["rules", "list", "-json"]),
]


@pytest.fixture
def folder(tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "main.tf").write_text(MODULE)
    (tmp_path / "p.dl").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def check(name: str, document: Any) -> None:
    problems = [
        f"{list(e.absolute_path)}: {e.message}" for e in Draft202012Validator(schema(name)).iter_errors(document)
    ]
    assert problems == []


def test_reviews(folder: Path, planner: Callable[..., Ran]) -> None:
    for command in (
        ["plan", V2, "-policy=p.dl"],
        ["plan", V2, "-out=p.plan"],
        ["plan", "-destroy"],
        ["plan", "-refresh-only"],
        ["plan", "-var=no=1"],
        ["show", "p.plan"],
        ["apply", "-auto-approve", V2],
    ):
        planner(*command[:1], "-review=review.json", "-link=https://x.test/{file}", *command[1:])
        check("review", json.loads((folder / "review.json").read_text()))
        (folder / "review.json").unlink()


OF_WHY = [
    ("proof", ["why", "terraform_data.b"]),
    ("proof", ["why", "output.both"]),
    ("proof", ["why", "-not", "replace", "terraform_data.a"]),
    ("proof", ["why", "replace", "terraform_data.b"]),
    ("proof", ["why", "-replace=terraform_data.c", "terraform_data.c"]),
    ("proof", ["why", "terraform_data.many"]),
    (
        "proof",
        [
            "why",
            "-target=terraform_data.b",
            "-target=terraform_data.moved",
            "-target=terraform_data.old",
            "terraform_data.a",
        ],
    ),
    ("proof", ["why", "terraform_data.b", "terraform_data.a"]),
    ("proof", ["why", "-not", "terraform_data.a", "terraform_data.b"]),
    ("proof", ["why", "unknown", "terraform_data.b.id"]),
    ("proof", ["why", "-not", "unknown", "terraform_data.a.input"]),
    ("proof", ["why", "moved", "terraform_data.moved"]),
    ("proof", ["why", "forced", "terraform_data.a"]),
    ("proof", ["why", "-target=terraform_data.b", "targeted", "terraform_data.a"]),
    ("proof", ["why", 'action("terraform_data.c", "update")']),
    ("proof", ["why", "deny", "x"]),
    ("proof", ["why", "warn", "y"]),
    ("proof", ["why", "undecided", "z"]),
    ("proof", ["why", "deny", "w"]),
    ("proof", ["why", "-not", "deny", "x", "terraform_data.moved"]),
    ("proof", ["why", "-policy-override=x", "-override-reason=r", "deny", "x"]),
    ("causes", ["why"]),
    ("list", ["why", "unknown"]),
    ("list", ["why", "moved"]),
    ("fixes", ["why", "-fix", "terraform_data.b"]),
    ("fixes", ["why", "-fix", "deny", "x"]),
    ("fixes", ["why", "-fix", "terraform_data.b", "terraform_data.a"]),
]


def closed(part: Any) -> Any:
    """A schema that rejects members that it does not list."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    more = {"additionalProperties": False} if isinstance(part.get("properties"), dict) else {}
    return {**more, **{name: closed(inner) for name, inner in part.items()}}


def test_schemas_list_every_member_of_why(
    tmp_path: Path, planner: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(SEVERAL)
    (tmp_path / "p.dl").write_text(VERDICTS)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(EDITED)
    seen: set[str] = set()
    for name, words in OF_WHY:
        ran = planner(words[0], "-json", "-policy=p.dl", "-var=image=v2", "-var=size=2", *words[1:])
        assert ran.code == 0, (words, ran.err)
        document = json.loads(ran.out)
        seen |= {member for one in (document, *document.get("also", ())) for member in one}
        problems = [
            f"{words} {e.json_path}: {e.message}"
            for e in Draft202012Validator(closed(schema(name))).iter_errors(document)
        ]
        assert problems == []
    missing = set(schema("proof")["properties"]) - seen
    assert missing == set()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_documents(folder: Path, planner: Callable[..., Ran]) -> None:
    for name, words in COMMANDS:
        check(name, json.loads(planner(*words).out))
    for words in (["plan", "-json", V2], ["apply", "-json", "-auto-approve", V2]):
        for line in planner(*words).out.splitlines():
            check("event", json.loads(line))


def test_fleets(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "planner.batch.hcl").write_text('unit "a" {\n  path = "."\n}\n')
    check("batch", json.loads(planner("batch", "plan", "-json").out))
    check("batch-graph", json.loads(planner("batch", "graph", "-json").out))
    assert UNIT["properties"].keys() == shard_results._UNIT.keys()  # with which joined reports are checked


def test_the_command(planner: Callable[..., Ran]) -> None:
    listed = planner("schema").out
    assert all(name in listed for name in SCHEMAS)
    assert json.loads(planner("schema", "proof").out) == schema("proof")
    wrong = planner("schema", "prof")
    assert wrong.code == 1 and "proof" in wrong.err
