"""Digests of the values of a configuration, by the names of their places: what the record beside the state holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import repetition_argument
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import InstanceKey, join
from planner.world.state.value_record import Digester


def value_digests(context: EvaluationContext, digester: Digester) -> dict[str, str]:
    """Of variables, locals, outputs, repetitions and what data sources read, as far as they are known; of ephemeral
    values none."""
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
    for call in module.config.calls.values():
        argument = repetition_argument(call)
        if argument != "none" and call.name in module.calls:
            keys = repetition_value(argument, module.calls[call.name])
            yield f"{join(module.text, f'module.{call.name}')}.{argument}", keys
    for decl in module.config.resources.values():
        objects = module.resources.get(decl.key)
        if objects is None or objects.expansion is None:
            continue
        argument = repetition_argument(decl)
        if argument != "none":
            keys = repetition_value(argument, objects.expansion.instances)
            yield f"{join(module.text, decl.key)}.{argument}", keys
        for key in objects.expansion.instances if decl.mode == "data" else ():
            value = objects.instance(key)
            if value is not None:
                yield module.instance_address(decl, key), value


def repetition_value(argument: str, keys: Collection[InstanceKey]) -> Value:
    """What the record has of a repetition: how many instances there are, or their keys by themselves."""
    return {str(key): str(key) for key in keys} if argument == "for_each" else len(keys)
