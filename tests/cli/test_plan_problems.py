"""Bad options of plan, and warnings: as JSON lines, as often as readers expect, and never among other output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
WARNED = "removed {\n  from = terraform_data.old\n}\n"


def said(text: str) -> list[tuple[str, int | None]]:
    """Severity and line of every diagnostic among JSON lines."""
    lines = [json.loads(line) for line in text.splitlines()]
    found = [line["diagnostic"] for line in lines if line["type"] == "diagnostic"]
    return [(d["severity"], d["range"]["start"]["line"] if "range" in d else None) for d in found]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["-target=nothing"],
        ["-replace=module.m"],
        ["-replace=data.terraform_remote_state.a"],
        ["-replace=terraform_data.a", "-destroy"],
        ["-replace=terraform_data.a", "-refresh-only"],
    ],
)
def test_bad_options_are_told_in_json(words: list[str], folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text('resource "terraform_data" "a" {\n}\n')
    ran = planner("plan", "-json", *words)
    assert (ran.code, said(ran.out)) == (1, [("error", None)])


def test_a_directory_without_configuration_is_planned_only_to_destroy(folder: Path, planner: Run) -> None:
    ran = planner("plan", "-json")
    assert (ran.code, said(ran.out)) == (1, [("error", None)])
    assert planner("plan", "-destroy").code == 0


def test_warnings_of_the_root_module_are_told_twice_and_again_by_apply(folder: Path, planner: Run) -> None:
    (folder / "m").mkdir()
    (folder / "m" / "main.tf").write_text(WARNED)
    (folder / "main.tf").write_text(WARNED + 'module "m" {\n  source = "./m"\n}\n')
    assert planner("init").code == 0
    assert said(planner("plan", "-json", "-out=p").out) == [("warning", 1)] * 3
    assert said(planner("apply", "-json", "p").out) == [("warning", 1)] * 2
    graph = json.loads(planner("graph", "-json").out)
    assert "module.m (close)" in graph["nodes"]


def test_what_a_provider_repeats_for_is_known_before_there_is_a_graph(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(
        'variable "keys" {\n  default = ["a"]\n}\n'
        'provider "terraform" {\n  alias    = "by"\n  for_each = toset(var.keys)\n}\n'
        'resource "terraform_data" "a" {\n  for_each = toset(var.keys)\n  provider = terraform.by[each.key]\n}\n'
    )
    assert planner("init").code == 0
    assert said(planner("plan", "-json").out) == [("warning", 9)]  # of the whole tree, so it is said once
    edges = json.loads(planner("graph", "-json").out)["edges"]
    assert not [edge for edge in edges if edge[0].endswith(".by") and edge[1].startswith("var.")]


def test_a_dynamic_block_of_an_unknown_kind_is_blamed_for_its_kind(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text('resource "terraform_data" "a" {\n  dynamic "x" {\n    for_each = []\n  }\n}\n')
    found = json.loads(planner("validate", "-json").out)["diagnostics"]
    assert [(d["severity"], d["range"]["start"]["column"]) for d in found] == [("error", 11)]


def test_a_for_each_that_is_unknown_and_of_a_wrong_type_is_told_both(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text(
        'resource "terraform_data" "s" {\n  input = ["a"]\n}\n'
        'resource "terraform_data" "a" {\n  for_each = terraform_data.s.output\n}\n'
    )
    assert planner("validate").code == 0
    assert said(planner("plan", "-json").out) == [("error", 5)] * 2


def test_connections_are_checked_and_referred_from(folder: Path, planner: Run) -> None:
    text = (
        'resource "terraform_data" "k" {\n}\nresource "terraform_data" "a" {\n'
        "  connection {\n    host = terraform_data.k.id\n    EXTRA\n  }\n"
        '  provisioner "local-exec" {\n    command = "true"\n  }\n}\n'
    )
    (folder / "main.tf").write_text(text.replace("EXTRA", "nope = 1"))
    found = json.loads(planner("validate", "-json").out)["diagnostics"]
    assert [d["range"]["start"]["line"] for d in found] == [6]
    (folder / "main.tf").write_text(text.replace("EXTRA", 'type = "ssh"'))
    edges = json.loads(planner("graph", "-json").out)["edges"]
    assert ["terraform_data.a (expand)", "terraform_data.k (expand)"] in edges


def test_refreshing_nothing_is_said_also_where_it_fails(folder: Path, planner: Run) -> None:
    (folder / "main.tf").write_text('resource "terraform_data" "a" {\n  input = terraform_data.nope.id\n}\n')
    ran = planner("refresh", "-json")
    assert (ran.code, said(ran.out)) == (1, [("warning", None), ("error", 2)])
