"""-target, -exclude and -replace in instances: the rules against the same in plain Python, on random addresses."""

from __future__ import annotations

from random import Random

import pytest

from planner.engine.plan.options import InstanceLimits, command_line
from planner.foundation.vocabulary.address import Address, ModuleAddress, ResourceAddress, format_key, parse_address
from planner.foundation.vocabulary.limits import Limits
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_state import declared_instance, recorded_instance
from planner.logic.graph.build import graph_program
from planner.logic.programs.rule_programs import product_program

KEYS = (None, 0, 1, "k", 'a.b["x"]')


def module(random: Random) -> ModuleAddress:
    names = [random.choice("mn") for _ in range(random.randint(0, 2))]
    return ModuleAddress(tuple((name, random.choice(KEYS)) for name in names))


def instance(random: Random) -> ResourceAddress:
    mode, name = random.choice(("managed", "data")), random.choice("xy")
    return ResourceAddress(module(random), mode, "a", name, random.choice(KEYS))


def address(random: Random, instances: list[ResourceAddress]) -> Address:
    """Something near one of the instances."""
    one = random.choice(instances)
    inside = ModuleAddress(tuple((name, random.choice((key, None, 0))) for name, key in one.module.steps))
    if inside.steps and random.random() < 0.4:
        return ModuleAddress(inside.steps[: random.randint(1, len(inside.steps))])
    return ResourceAddress(inside, one.mode, one.type, one.name, random.choice((one.key, None, 1)))


def is_about(target: Address, one: ResourceAddress) -> bool:
    if isinstance(target, ModuleAddress):
        return target.config.contains(one.config)
    return target.config == one.config


def takes_part(one: ResourceAddress, targets: list[Address], excludes: list[Address]) -> bool:
    if any(exclude.covers(one) for exclude in excludes):
        return False
    about = [target for target in targets if is_about(target, one)]
    return not about or any(target.covers(one) for target in about)


@pytest.mark.parametrize("seed", range(150))
def test_which_instances_take_part_and_what_matches_nothing(seed: int) -> None:
    random = Random(seed)
    instances = sorted({instance(random) for _ in range(8)}, key=str)
    targets, excludes = ([address(random, instances) for _ in range(random.randint(0, 2))] for _ in range(2))
    command = command_line("plan", Limits(tuple(targets), tuple(excludes)))
    limits = InstanceLimits(command, None)
    facts = limits.facts()
    gone = set()
    for one in instances:
        text, config = str(one), str(one.config)
        if random.random() < 0.3:
            abandoned = random.random() < 0.5
            gone |= {text} if abandoned else set()
            recorded_instance(facts, text, config, abandoned)
        else:
            declared_instance(facts, text, config, str(one.module), format_key(one.key), None)  # type: ignore[arg-type]
    expected = {str(one) for one in instances if takes_part(one, targets, excludes)} | gone
    assert limits.left_out(facts) == {str(one) for one in instances} - expected
    unmatched = evaluate(product_program("limits"), facts.build(), ["unmatched"])["unmatched"]
    asked = [("target", target) for target in targets] + [("exclude", exclude) for exclude in excludes]
    assert unmatched == {(o, str(a)) for o, a in asked if not any(a.covers(one) for one in instances)}


@pytest.mark.parametrize("seed", range(60))
def test_resources_that_the_walk_need_not_ask_about(seed: int) -> None:
    """Where the graph says that an address stands for all instances, or for none of them, it is right."""
    random = Random(seed)
    instances = sorted({instance(random) for _ in range(8)}, key=str)
    targets = [address(random, instances) for _ in range(random.randint(1, 3))]
    facts = FactBuilder(command_line("plan", Limits(tuple(targets))))
    vertices = {str(one.config): one.config for one in instances}
    for text, config in vertices.items():
        node = f"{text} (expand)"
        facts.add("node_base", node, "resource", str(config.module), text)
        facts.add("kept", node)
        for depth in range(len(config.module.steps)):
            steps = config.module.steps
            facts.add("child_module", str(ModuleAddress(steps[: depth + 1])), str(ModuleAddress(steps[:depth])))
    asked = {row[0] for row in evaluate(graph_program(), facts.build(), ["named_in_part"])["named_in_part"]}
    for one in instances:
        if f"{one.config} (expand)" not in asked:
            assert takes_part(one, targets, [])


def test_an_address_is_read_as_it_is_written() -> None:
    for text in ("module.m", 'module.m["k"].a.x', "data.a.x[0]", "a.x"):
        command = command_line("plan", Limits((parse_address(text),)))
        assert [row[0] for row in command.relation("target")] == [text]
