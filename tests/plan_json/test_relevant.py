"""Relevant attributes against what OpenTofu recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import recorded

from planner.config.model import ModuleConfig, ResourceDecl
from planner.language.schema import BlockSchema
from planner.plan.json_plan import path_json
from planner.plan.model import Plan
from planner.plan.relevant import relevant_attributes
from planner.provider.builtin import SCHEMA
from planner.vocabulary.address import ModuleAddress, parse_module


def block_of(module: ModuleConfig, decl: ResourceDecl) -> BlockSchema:
    return (SCHEMA.resources if decl.mode == "managed" else SCHEMA.data_sources)[decl.type].block


def changed_modules(plan: Plan) -> set[ModuleAddress]:
    """The child module instances that stay, whose outputs all count as changed."""
    found: set[ModuleAddress] = set()
    for change in plan.changes:
        module = parse_module(change.module)
        while not module.is_root and change.action != "delete":
            found.add(module)
            module = module.parent
    return found


@pytest.mark.parametrize("case", recorded.WITH_PLAN)
def test_recorded(case: str) -> None:
    want = recorded.recorded_plan(case)
    plan, config = recorded.plan(want), recorded.configuration(case)
    outputs = [("", o.name) for o in plan.outputs if o.action != "no-op"]
    for module in changed_modules(plan):
        child = config.root.descendant(module.path)
        assert child is not None
        outputs += [(str(module), name) for name in child.outputs]
    got = relevant_attributes(config, block_of, plan.changes, outputs)
    assert [(address, path_json(path)) for address, path in got] == sorted(
        (raw["resource"], raw["attribute"]) for raw in want.get("relevant_attributes", ())
    )
