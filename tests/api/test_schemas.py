"""The JSON Schemas hold for what commands print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran
from jsonschema import Draft202012Validator

from planner.api.schemas import SCHEMAS, schema

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


def test_the_command(planner: Callable[..., Ran]) -> None:
    listed = planner("schema").out
    assert all(name in listed for name in SCHEMAS)
    assert json.loads(planner("schema", "proof").out) == schema("proof")
    wrong = planner("schema", "prof")
    assert wrong.code == 1 and "proof" in wrong.err
