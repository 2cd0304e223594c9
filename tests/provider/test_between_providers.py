"""A provider that is configured from what another one creates: in which order things are destroyed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from provider.plugins import SOURCES, override

from planner.cli import main
from planner.render.terminal import Terminal

CLUSTER = """
variable "region" { default = "eu" }
variable "pods" { default = 1 }
resource "test_thing" "cluster" {
  name   = "cluster"
  region = var.region
  LIFECYCLE
}
provider "other" { prefix = test_thing.cluster.id }
resource "test_thing" "pod" {
  provider = other
  count    = var.pods
  name     = "pod"
  region   = var.region
}
"""
NEW_CLUSTER = ("delete cluster", "create cluster", "delete pod", "create pod")
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    override(monkeypatch, tmp_path, names=("test", "other"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*words: str, code: int = 0) -> str:
        out = io.StringIO()
        assert main.dispatch(list(words), Terminal(io.StringIO(), out, out)) == code, out.getvalue()
        return out.getvalue()

    return run


def write(lifecycle: str = "") -> None:
    required = "".join(f'    {name} = {{ source = "{SOURCES[name]}" }}\n' for name in ("test", "other"))
    text = f"terraform {{\n  required_providers {{\n{required}  }}\n}}\n{CLUSTER.replace('LIFECYCLE', lifecycle)}"
    Path("main.tf").write_text(text)


def done(output: str) -> tuple[str, ...]:
    """What was done, in that order."""
    events = [json.loads(line) for line in output.splitlines()]
    hooks = [event["hook"] for event in events if event["type"] == "apply_complete"]
    return tuple(f"{hook['action']} {hook['resource']['resource_name']}" for hook in hooks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lifecycle", "words", "order"),
    [
        ("", ["-var=region=us"], NEW_CLUSTER),
        ("", ["-var=region=us", "-var=pods=0"], NEW_CLUSTER[:3]),
        ("", ["-var=pods=0"], ("delete pod",)),
        ("", ["-destroy"], ("delete pod", "delete cluster")),
        (
            "lifecycle { create_before_destroy = true }",
            ["-var=region=us"],
            ("create cluster", "delete pod", "create pod", "delete cluster"),
        ),
    ],
)
def test_what_runs_in_a_cluster_that_is_replaced(
    lifecycle: str, words: list[str], order: tuple[str, ...], run: Run
) -> None:
    write(lifecycle)
    run("apply", "-auto-approve")
    assert done(run("apply", "-auto-approve", "-json", *words)) == order


@pytest.mark.slow
def test_the_order_that_was_given_up_can_be_asked_for(run: Run) -> None:
    write()
    run("apply", "-auto-approve")
    run("plan", "-var=region=us", "-out=plan")
    nodes = "test_thing.cluster (destroy)", "test_thing.pod[0] (destroy)"
    said = run("why", "-plan=plan", *nodes, code=1)
    assert "Dropped order" in said
    chain = ["test_thing.pod[0] (destroy)", 'provider["example.com/test/other"]', "test_thing.cluster", nodes[0]]
    for dependent, dependency in pairwise(chain):
        assert f"  {dependent} needs {dependency}\n" in said
    near = run("why", "-plan=plan", "-not", *nodes)
    assert f"{nodes[1]} should be done before {nodes[0]}, but that order was dropped" in near
    assert "There is a path in the opposite direction" in near
    asked = f'given_up("{nodes[0]}", "{nodes[1]}")'
    assert "depends on test_thing.cluster" in run("why", "-plan=plan", asked)
