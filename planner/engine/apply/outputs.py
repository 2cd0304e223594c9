"""Output values while applying: those of child modules for their callers, those of the root module for the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.evaluation.conditions import check_rule
from planner.engine.evaluation.context import ModuleInstance, output_marks
from planner.engine.evaluation.outputs import evaluate_output
from planner.foundation.values.settled import unknown_as_null
from planner.foundation.values.value import Null, Value, is_wholly_known, mark, type_of, unmark_deep
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.world.state.model import OutputState

if TYPE_CHECKING:
    from planner.engine.apply.shared_work import ApplyWork


def apply_output(walk: ApplyWork, module: ModuleInstance, name: str, config_address: str) -> list[Diagnostic]:
    """Evaluate an output of one module instance, if planning did not know it already; that of the root module becomes
    part of the state, or leaves it when everything is destroyed."""
    if walk.destroys and module.parent is None:
        walk.record.state.remove_output(name)
        return []
    decl = module.config.outputs[name]
    address = join(module.text, f"output.{name}")
    problems: list[Diagnostic] = []
    for i, rule in enumerate(() if walk.destroys else decl.preconditions):
        result = check_rule(rule, "output", module.scope)
        walk.checks.report("output_value", config_address, address, "output", i, result)
        problems += result.about("output_value", address, "output")
    if has_errors(problems):
        return problems
    value = _planned(walk, name) if module.parent is None else walk.plan.module_outputs.get(address)
    if value is None:
        value, found = evaluate_output(module, decl)
        problems += found
        if has_errors(problems):
            return problems
    if module.parent is not None:
        module.set_output(name, mark(value, output_marks(module, decl)))
        return problems
    plain = unmark_deep(value)[0]
    if plain.__class__ is Null:
        walk.record.state.remove_output(name)
    else:
        plain = unknown_as_null(plain)
        walk.record.state.set_output(name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))
    return problems


def _planned(walk: ApplyWork, name: str) -> Value:
    """The value of a root output when planning already knew it."""
    planned = walk.planned_outputs.get(name)
    if planned is None or not is_wholly_known(planned.after):
        return None
    return planned.after
