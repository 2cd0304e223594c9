"""Policies see what is known of a document that is made by jsonencode and has unknown parts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

MAIN = """
variable "secret" {
  default   = "hush"
  sensitive = true
}
resource "terraform_data" "bucket" {}
locals {
  open = jsonencode({ Statement = [{ Effect = "Allow", Principal = "*", Resource = terraform_data.bucket.id }] })
  none = jsonencode({ Statement = [{ Effect = "Allow", Principal = "me", Resource = terraform_data.bucket.id }] })
}
resource "terraform_data" "open" {
  input = { policy = local.open }
}
resource "terraform_data" "none" {
  input = { policy = local.none }
}
resource "terraform_data" "some" {
  input = { policy = jsonencode({ Statement = [{ Effect = "Allow", Principal = terraform_data.bucket.id }] }) }
}
"""
SECRET = """
resource "terraform_data" "secret" {
  input = { policy = jsonencode({ Statement = [{ Principal = var.secret, Resource = terraform_data.bucket.id }] }) }
}
"""
POLICY = """
deny("open", A, "admits everybody") :- json_value(A, "input.policy", "Statement[0].Principal", "*").
deny("tells", A, "admits " ++ P) :-
    planned(A, "input.policy", D), is_json(D), json(D, "Statement[0].Principal", P), is_symbol(P), P != "me".
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "p.dl").write_text(POLICY)
    return tmp_path


def found(ran: Ran) -> list[tuple[str, str, str]]:
    findings = json.loads(ran.out)["findings"]
    return [(f["verdict"], f["code"], f["address"].removeprefix("terraform_data.")) for f in findings]


def test_what_is_known_of_a_document_is_judged(folder: Path, planner: Callable[..., Ran]) -> None:
    wanted = [("deny", "open", "open"), ("deny", "tells", "open"), ("undecided", "open", "some")]
    wanted.append(("undecided", "tells", "some"))
    ran = planner("policy", "check", "-policy=p.dl", "-json")
    assert found(ran) == wanted and '"admits *"' in ran.out.replace(": ", ":").replace('":"', '": "')
    assert planner("plan", "-out=plan.bin").code == 0
    assert found(planner("policy", "check", "-policy=p.dl", "-json", "-plan=plan.bin")) == wanted


HELPER = """
/// statement(d, s): a statement of a document. Example: statement("{}", "Statement[0]")
.decl statement(d: text, s: text)
statement(D, S) :- planned(_, "input.policy", D), is_symbol(D), is_json(D), json_element(D, "Statement", _, S).
deny("open", A, "admits everybody") :-
    planned(A, "input.policy", D), is_symbol(D), statement(D, S), P = S ++ ".Principal", json(D, P, "*").
"""


def test_documents_that_may_be_the_same_are_judged_each(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "p.dl").write_text(HELPER)
    (folder / "main.tf").write_text(MAIN.replace('"open" {', '"open" {\n  count = 12'))
    wanted = sorted(("deny", "open", f"open[{number}]") for number in range(12))
    assert found(planner("policy", "check", "-policy=p.dl", "-json")) == [*wanted, ("undecided", "open", "some")]


def test_plans_that_others_show_have_them_from_the_configuration(
    folder: Path, planner: Callable[..., Ran], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planner("plan", "-out=plan.bin").code == 0
    shown = planner("show", "-json", "plan.bin").out
    (folder / "plan.json").write_text(shown)
    check = ("policy", "check", "-policy=p.dl", "-json", "-plan=plan.json")
    decided = [("deny", "open", "open"), ("deny", "tells", "open"), ("undecided", "open", "some")]
    assert found(planner(*check)) == [*decided, ("undecided", "tells", "some")]
    undecided = [("undecided", code, name) for code in ("open", "tells") for name in ("none", "open", "some")]
    (folder / "main.tf").write_text(MAIN + 'resource "terraform_data" "more" {}\n')  # another configuration
    assert found(planner(*check)) == undecided
    (folder / "main.tf").write_text(MAIN)
    later = time.time() + 60
    os.utime(folder / "main.tf", (later, later))  # what is written there now may not have been there then
    assert found(planner(*check)) == undecided
    (folder / "main.tf").write_text(MAIN.replace('Principal = "*"', "Principal = var.secret"))
    os.utime(folder / "main.tf", (0, 0))
    ran = planner(*check)
    assert ("undecided", "open", "open") in found(ran) and ("undecided", "open", "none") not in found(ran)
    other = tmp_path_factory.mktemp("other")
    for name in ("plan.json", "p.dl"):
        (other / name).write_text((folder / name).read_text())
    monkeypatch.chdir(other)
    assert found(planner(*check)) == undecided


def test_secrets_in_a_document_stay_secret(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "main.tf").write_text(MAIN + SECRET)
    for words in ((), ("-json",), ("-proofs",), ("-format=sarif",), ("-format=markdown",)):
        ran = planner("policy", "check", "-policy=p.dl", *words)
        assert "secret" in ran.out and "hush" not in ran.out + ran.err
