"""A state for people: each object with its attributes, then the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from planner.foundation.values.json_codec import to_json
from planner.foundation.values.types import DYNAMIC, type_to_json
from planner.foundation.values.value import SENSITIVE, Value, mark, type_of, unmark_deep
from planner.foundation.vocabulary.address import ROOT, AddressError, format_key, key_order, parse_module, sort_key
from planner.render.diff import diff_dynamic, diff_type
from planner.render.diff_block import diff_object
from planner.render.diff_model import ValueChange
from planner.render.diff_text import DiffText, Style
from planner.render.plan import SchemaOf
from planner.render.terminal import Terminal
from planner.world.state.model import InstanceState, ObjectState, OutputState, ResourceState, State

Decode: TypeAlias = Callable[[ResourceState, ObjectState], Value]
"""returns the attributes of an object as a value of its type, with sensitive parts marked"""


class StateText:
    """Prints one state."""

    def __init__(self, schema_of: SchemaOf, decode: Decode, terminal: Terminal, show_sensitive: bool = False) -> None:
        self.schema_of = schema_of
        self.decode = decode
        self.terminal = terminal
        self.text = DiffText(terminal.paint)
        self.style = Style(all=True, symbols=False, secrets=show_sensitive)

    def show(self, state: State) -> None:
        """Print all objects, module by module, and the outputs."""
        out = self.terminal.out
        if state.is_empty:
            out("The state file is empty. No resources are represented.")
            return
        first = True
        for resource, instance, deposed, obj in objects(state):
            if not first:
                out()
            first = False
            out(self.object(resource, instance, deposed, obj))
        if state.outputs:
            out()
            out()
            out("Outputs:")
            out()
            for name in sorted(state.outputs):
                out(f"{name} = {self.output(state.outputs[name])}")

    def object(self, resource: ResourceState, instance: InstanceState, deposed: str, obj: ObjectState) -> str:
        """The text of an object: a comment with the address of the object, and a block."""
        remark = f" (deposed object {deposed})" if deposed else " (tainted)" if obj.tainted else ""
        keyword = "resource" if resource.mode == "managed" else resource.mode
        value = self.decode(resource, obj)
        schema = self.schema_of(resource.provider, resource.mode, resource.type)
        body = self.text.render(diff_object(ValueChange(value, value), schema.block if schema else None), 0, self.style)
        address = resource.address + format_key(instance.key)
        return f'# {address}:{remark}\n{keyword} "{resource.type}" "{resource.name}" {body}'

    def output(self, output: OutputState) -> str:
        value = mark(output.value, frozenset((SENSITIVE,))) if output.sensitive else output.value
        change = ValueChange(value, value)
        diff = diff_dynamic(change) if output.type is DYNAMIC else diff_type(change, output.type)
        return self.text.render(diff, 0, self.style)


def objects(state: State) -> Iterator[tuple[ResourceState, InstanceState, str, ObjectState]]:
    """All objects with their deposed keys ("" for current objects). Modules come before their child modules; objects
    are sorted by address."""
    for address in sorted(state.resources, key=lambda a: (_depth_first(state.resources[a].module), sort_key(a))):
        resource = state.resources[address]
        for instance in resource.instances.values():
            if instance.current is not None:
                yield resource, instance, "", instance.current
            for key in sorted(instance.deposed):
                yield resource, instance, key, instance.deposed[key]


def _depth_first(module: str) -> tuple[tuple[str, tuple[int, int, str]], ...]:
    try:
        address = parse_module(module)
    except AddressError:
        address = ROOT
    return tuple((name, key_order(key)) for name, key in address.steps)


# outputs in the form of `output -json`


def output_json(output: OutputState) -> dict[str, Any]:
    """An output as JSON: whether it is sensitive, the author's message if it is deprecated, the type and the value."""
    value, _ = unmark_deep(output.value)
    type = type_of(value) if output.type is DYNAMIC else output.type
    words = {"deprecated": output.deprecated} if output.deprecated else {}
    return {"sensitive": output.sensitive, **words, "type": type_to_json(type), "value": to_json(value, type)}
