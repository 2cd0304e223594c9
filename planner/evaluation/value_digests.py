"""Digests of the values of a configuration, by the names of their places: what the record beside the state holds."""

from __future__ import annotations

from collections.abc import Iterator

from planner.evaluation.context import EvaluationContext, ModuleInstance
from planner.state.value_record import Digester
from planner.values.value import Value
from planner.vocabulary.address import join


def value_digests(context: EvaluationContext, digester: Digester) -> dict[str, str]:
    """Of variables, locals, outputs and what data sources read, as far as they are known; of ephemeral values none."""
    digests: dict[str, str] = {}
    for module in context.all_instances():
        for name, value in _values(module):
            digests.update(digester.parts(name, value))
    return digests


def _values(module: ModuleInstance) -> Iterator[tuple[str, Value]]:
    for name, value in module.variables.items():
        yield join(module.text, f"var.{name}"), value
    for name, value in module.locals.items():
        yield join(module.text, f"local.{name}"), value
    for name, value in module.outputs.items():
        yield f"{module.text}.{name}" if module.text else f"output.{name}", value
    for decl in module.config.resources.values():
        objects = module.resources.get(decl.key) if decl.mode == "data" else None
        if objects is None or objects.expansion is None:
            continue
        for key in objects.expansion.instances:
            value = objects.instance(key)
            if value is not None:
                yield module.instance_address(decl, key), value
