"""What is named on the command line and matches nothing: it would change what a plan does without a word.

The rules of rules/graph/instances.dl decide; this module states the facts, and guesses what could have been meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planner.engine.plan.targets import command_line
from planner.foundation.vocabulary.address import (
    Address,
    ModuleAddress,
    ResourceAddress,
    format_key,
    join,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, warning
from planner.foundation.vocabulary.nearest import nearest
from planner.foundation.vocabulary.shell import option
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.instances import declared_instance, recorded_instance
from planner.logic.programs.rule_programs import limit_program

if TYPE_CHECKING:
    from planner.engine.plan.shared_work import PlanWork


def unmatched(walk: PlanWork) -> list[Diagnostic]:
    """Warnings for addresses of -target, -exclude and -replace that no instance of the configuration or of the state
    has. Blocks whose instances are not known, because the plan leaves them out, may have any."""
    options = walk.options
    named = dict.fromkeys(options.limits.options())
    if not named or options.before_destroy:
        return []
    facts = FactBuilder(command_line(options.walk, options.limits))
    _declared(walk, facts)
    _recorded(walk, facts)
    derived = evaluate(limit_program(), facts.build(), ["unmatched", "walked", "unexpanded"])
    problems = []
    for name, address in named:
        text = str(address)
        if (name, text) not in derived["unmatched"]:
            continue
        known = {row[0] for relation in ("walked", "unexpanded") for row in derived[relation]}
        hit = nearest(text, _names(address, map(parse_resource_instance, known)), 3)
        detail = f"{option(name, text)} names nothing: neither the configuration nor the state has such an object."
        if hit:
            detail += f" Did you mean {option(name, hit)}?"
        problems.append(warning("plan.unmatched_address", "An address matches nothing", detail))
    return problems


def _declared(walk: PlanWork, facts: FactBuilder) -> None:
    """The instances of the configuration, and the blocks of which some are not known."""
    for config in walk.config.root.walk():
        modules = walk.context.instances(config.path)
        base = ".".join(f"module.{name}" for name in config.path)
        for decl in config.resources.values():
            object = join(base, decl.key)
            expansions = [(module, module.resource(decl.key).expansion) for module in modules]
            for module, expansion in expansions:
                for key in expansion.instances if expansion is not None else ():
                    address = module.instance_address(decl, key)
                    declared_instance(facts, address, object, module.text, format_key(key), decl.span)
            if not expansions or any(expansion is None for _, expansion in expansions):
                facts.add("unexpanded", object, source=decl.span)


def _recorded(walk: PlanWork, facts: FactBuilder) -> None:
    for resource, instance in walk.state.instances():
        address = parse_resource_instance(resource.address + format_key(instance.key))
        recorded_instance(facts, str(address), str(address.config))


def _names(address: Address, known: Iterable[ResourceAddress]) -> list[str]:
    """What could have been meant: modules for a module, resources and instances for the others."""
    if isinstance(address, ModuleAddress):
        return sorted(
            {str(ModuleAddress(one.module.steps[: i + 1])) for one in known for i in range(len(one.module.steps))}
        )
    return sorted({str(form) for one in known for form in ((one, one.resource) if address.key is None else (one,))})
