"""Ephemeral resources: opened when their turn comes.

What they give is never kept: it lives as long as the walk, marked as ephemeral. When it cannot be opened yet, because
something that it needs is only known while applying, the plan sees what the configuration tells and nothing else.
"""

from __future__ import annotations

from planner.engine.evaluation.configuration_walk import ConfigurationWalk
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.value import EPHEMERAL, Null, Value, is_wholly_known, mark, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors

_EPHEMERAL = frozenset((EPHEMERAL,))


def opened(walk: ConfigurationWalk, it: Instance, value: Value) -> list[Diagnostic]:
    """Others may read it from now on."""
    assert it.objects is not None
    value = mark(value, _EPHEMERAL)
    it.objects.set(it.key, value)
    return walk.conditions(it, "postcondition", value)


def open_resource(walk: ConfigurationWalk, it: Instance, config: Value) -> tuple[Value | None, list[Diagnostic]]:
    """What the resource gives, with the configuration's marks; None when it cannot be opened."""
    plain = unmark_deep(config)[0]
    problems = in_body(it.provider.validate_resource("ephemeral", it.type, plain), it.body, it.address)
    if has_errors(problems):
        return None, problems
    walk.hooks.ephemeral_start(it.address, "open")
    answer = it.provider.open(it.type, plain)
    problems += in_body(answer.diagnostics, it.body, it.address)
    if has_errors(problems):
        return None, problems
    if answer.value.__class__ is Null or not is_wholly_known(answer.value):
        detail = f"The provider {it.configuration} gave no complete object for {it.address}."
        problems.append(error("provider.invalid_object", "Provider produced invalid object", detail))
        problems += in_body(it.provider.close_ephemeral(it.type, answer.private), it.body, it.address)
        return None, problems
    walk.hooks.ephemeral_complete(it.address, "open")
    walk.opened.add(it, answer)
    return apply_marks(answer.value, marked_paths(config)), problems
