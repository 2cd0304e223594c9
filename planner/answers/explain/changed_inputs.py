"""Represents changed inputs: inputs of the plan that differ from their former values."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from planner.answers.explain.origins import Path
from planner.answers.explain.places import ValueLocation, place_name
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.address import (
    format_module,
    format_resource,
    join,
    parse_module,
    quote,
    valid_identifier,
)
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ModulePath, ResourceDecl
from planner.logic.model.plan import ResourceChange

RESOURCES = ("instances", "object", "renewed")
"""kinds of inputs that are changes of a resource"""
ENTRY = "entry"
"""the kind of root causes that are entries of a YAML or JSON file"""


class ChangedInput(NamedTuple):
    """A changed input. `kind`: `variable` (a part of a root variable); `file` (or the entry at `path` of a YAML or JSON
    file); the text of an expression: `local`, `output`, `argument` (of a module call, or the default of the module's
    variable), `repetition`, `attribute`; or a change of a resource: `instances` (instances are created or destroyed),
    `object` (an object changes or is read), `renewed` (attributes change only because an object is replaced). `name`:
    the name of the input within its module."""

    kind: str
    module: ModulePath
    name: str
    path: Path = ()


ChangedInputs: TypeAlias = frozenset[ChangedInput]


def describe(unit: ChangedInput, config: Config) -> tuple[str, str, Span | None]:
    """(name, kind, place) of an input, if it is a root cause. The place is None for variables and files, and for an
    input whose place is unknown."""
    if unit.kind == "variable":
        return place_name(f"var.{unit.name}", unit.path), "variable", None
    if unit.kind == "file":
        if not unit.path:
            return f"file {unit.name}", "file", None
        return entry_name(unit.name, unit.path), ENTRY, None
    path = format_module((name, None) for name in unit.module)
    module = config.root.descendant(unit.module)
    if unit.kind == "local" and module is not None and unit.name in module.locals:
        return f"the text of {join(path, f'local.{unit.name}')}", "text", module.locals[unit.name].expr.span
    if unit.kind == "output":
        name = f"{path}.{unit.name}" if path else f"output.{unit.name}"
        known = module is not None and unit.name in module.outputs
        return f"the text of {name}", "text", module.outputs[unit.name].value.span if known and module else None
    if unit.kind == "argument":
        name, call = join(path, f"var.{unit.name}"), module.call if module is not None else None
        argument = call.inputs.get(unit.name) if call is not None else None
        variable = module.variables.get(unit.name) if module is not None else None
        span = variable.default_span or variable.span if variable is not None else None
        span = argument.expr_span if argument is not None else span
        return f"the text of {name}", "text", span
    name = join(path, unit.name)
    if unit.kind == "object":
        read = block_of(module, unit.name)
        return name, "read", read.span if read is not None else None
    block, _, argument_name = unit.name.rpartition(".")
    decl = block_of(module, block)
    expr = getattr(decl, argument_name, None) if unit.kind == "repetition" else None
    if unit.kind == "attribute" and isinstance(decl, ResourceDecl):
        argument = decl.body.just_attributes()[0].get(argument_name)
        return f"the text of {name}", "text", argument.expr_span if argument is not None else decl.span
    return f"the text of {name}", "text", expr.span if expr is not None else decl.span if decl is not None else None


def entry_name(file: str, path: Path) -> str:
    """The name of an entry of a file, such as `teams.web.size in teams.yaml`."""
    steps = (
        f".{key}" if valid_identifier(str(key)) else f"[{quote(key) if key.__class__ is str else key}]"
        for _, key in path
    )
    return f"{''.join(steps).removeprefix('.')} in {file}"


def changed_resource(change: ResourceChange) -> ChangedInput:
    """The change of an instance, as an input of other values."""
    comes_or_goes = change.mode != "data" and Null in (change.before.__class__, change.after.__class__)
    key = format_resource("", change.mode, change.type, change.name)
    return ChangedInput("instances" if comes_or_goes else "object", parse_module(change.module).path, key)


def unit_of(place: ValueLocation) -> ChangedInput | None:
    """The input that the value at a place is, or that the source text of its expression is; None for places of other
    kinds."""
    path, name = place.module.config.path, place.name
    if place.kind == "var":
        return (
            ChangedInput("variable", (), name, place.path)
            if place.module.parent is None
            else ChangedInput("argument", path, name)
        )
    if place.kind in ("local", "output"):
        return ChangedInput(place.kind, path, name)
    if place.kind == "resource" and place.path:
        return ChangedInput("attribute", path, join(name, str(place.path[0][1])))
    if place.kind in ("each", "each_call"):
        block = name if place.kind == "each" else f"module.{name}"
        return ChangedInput("repetition", path, f"{block}.")
    return None


def covers(one: ChangedInput, other: ChangedInput) -> bool:
    """Whether the two inputs are equal, or `other` is a part of `one`, or the reverse."""
    if one.kind == other.kind == "repetition":
        return one.module == other.module and (one.name.startswith(other.name) or other.name.startswith(one.name))
    if one[:3] != other[:3]:
        return False
    keys = [[key for _, key in unit.path] for unit in (one, other)]
    shortest = min(map(len, keys))
    return keys[0][:shortest] == keys[1][:shortest]


def block_of(module: ModuleConfig | None, name: str) -> ResourceDecl | ModuleCall | None:
    """The declaration of a resource (`type.name`) or module call (`module.name`); None if there is none."""
    if module is None:
        return None
    return module.calls.get(name.removeprefix("module.")) if name.startswith("module.") else module.resources.get(name)
