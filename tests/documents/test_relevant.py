"""Relevant attributes against what OpenTofu recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import recorded

from planner.answers.documents.json_plan import path_json
from planner.engine.plan.findings import relevant_attributes
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.address import ModuleAddress, parse_module
from planner.language.config.model import ModuleConfig, ResourceDecl
from planner.logic.model.plan import Plan
from planner.world.provider.builtin import SCHEMA


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


def is_limited_in_modules(case: str) -> bool:
    """Whether -target or -exclude may keep outputs of modules from being planned, which no recorded plan says."""
    given = json.loads((recorded.CASES / case / "case.json").read_text(encoding="utf-8")).get("plan_args", [])
    return any(word.startswith(("-target=module.", "-exclude=module.")) for word in given)


@pytest.mark.parametrize("case", [case for case in recorded.WITH_PLAN if not is_limited_in_modules(case)])
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
