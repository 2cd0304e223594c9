"""Removed units: units that only a `removed` block of the fleet's file describes, so that they are destroyed or
forgotten."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.foundation.support.disk import read_whole
from planner.foundation.values.expression_text import attributes_text
from planner.foundation.values.json_codec import implied_value
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.workflows.batch.facts import has_objects
from planner.workflows.batch.manifest import NAME, UnitStateEntry, known_units
from planner.workflows.batch.model import Fleet, RemovedUnit, Unit
from planner.workflows.batch.record import safe_name
from planner.world.state.backend import schema_of

REMOVED = os.path.join(".planner", "removed")
"""directory with a generated configuration for each removed unit; this configuration contains only a backend"""


def with_removals(fleet: Fleet) -> tuple[dict[str, Unit], list[Diagnostic]]:
    """{name: unit to destroy}, and diagnostics about units that are forgotten, have no objects or cannot be removed."""
    known = known_units(fleet.root)
    units: dict[str, Unit] = {}
    diagnostics: list[Diagnostic] = []
    if known is None:
        names = ", ".join(removal.unit for removal in fleet.removals)
        detail = (
            f"{NAME}, the record of the states of units, is damaged: the remaining objects of {names} are not known."
        )
        return units, [error("batch.removed", "A unit cannot be removed", detail)]
    stacks = {unit.called[0] for unit in fleet.units.values() if unit.deployment and unit.called}
    for removal in fleet.removals:
        if removal.unit.rpartition("/")[0] in stacks:
            detail = (
                f"{removal.unit} is a deployment of a stack. Declare it in the stack again with destroy = true, and "
                f"apply. Then remove its declaration and this block ({removal.place})."
            )
            diagnostics.append(error("batch.removed", "A deployment cannot be removed here", detail))
            continue
        entry = known.get(removal.unit)
        if entry is None or (os.path.isabs(entry.state) and not has_objects(entry.state)):
            hint = did_you_mean(removal.unit, (n for n in known if n not in fleet.units and n != removal.unit))
            detail = f"{removal.unit} has no objects left: remove the block ({removal.place}).{hint}"
            diagnostics.append(warning("batch.removed", "Nothing to remove", detail))
            continue
        if entry.backend is not None and not _is_backend(*entry.backend):
            detail = (
                f"The entry of {NAME} for the state of {removal.unit} is not a valid backend: the file was changed."
            )
            diagnostics.append(error("batch.removed", "A unit cannot be removed", detail))
            continue
        if removal.action == "forget":
            detail = f"{removal.unit} is forgotten with the next apply; its state {entry.state} is unchanged."
            diagnostics.append(warning("batch.forgets", "A unit will be forgotten", detail))
            continue
        try:
            units[removal.unit] = _empty_unit(fleet.root, removal, entry)
        except OSError as problem:
            detail = f"{problem.filename or REMOVED}: {problem.strerror or problem}."
            diagnostics.append(error("batch.removed", "A unit cannot be removed", detail))
    return units, diagnostics


def _is_backend(kind: str, settings: Mapping[str, Any]) -> bool:
    """Whether the backend settings in the manifest are valid, so that planner can write a backend block with them."""
    schema = schema_of(kind)
    return schema is not None and _fits(schema, settings)


def _fits(schema: BlockSchema, settings: Any) -> bool:
    if settings.__class__ is not dict:
        return False
    inner = settings.keys() & schema.blocks.keys()
    blocks = ((name, one) for name in inner for one in _several(settings[name]))
    return settings.keys() - inner <= schema.attributes.keys() and all(
        one is None or _fits(schema.blocks[name].block, one) for name, one in blocks
    )


def _several(value: Any) -> list[Any]:
    return value if value.__class__ is list else [value]


def _block(kind: str, settings: Mapping[str, Any]) -> str:
    schema = schema_of(kind)
    inner = schema.blocks if schema is not None else {}
    text = _arguments({name: value for name, value in settings.items() if name not in inner}, "    ")
    for name in sorted(settings.keys() & inner.keys()):
        for one in _several(settings[name]):
            if one:
                text += f"    {name} {{\n{_arguments(one, '      ')}    }}\n"
    header = kind if kind == "cloud" else f"backend {quote(kind)}"
    return f"{header} {{\n{text}  }}\n"


def _arguments(settings: Mapping[str, Any], indent: str) -> str:
    values = {name: implied_value(value) for name, value in settings.items() if value not in (None, [])}
    return "".join(f"{indent}{line}" for line in attributes_text(values).splitlines(keepends=True))


def _empty_unit(root: str, removal: RemovedUnit, entry: UnitStateEntry) -> Unit:
    """Write a configuration that contains only a backend, so that its plan destroys all objects in the state. Returns a
    unit with this configuration. Raises OSError."""
    folder = os.path.join(REMOVED, safe_name(removal.unit))
    place = os.path.join(root, folder)
    kind, settings = entry.backend or ("local", {"path": entry.state})
    text = f"terraform {{\n  {_block(kind, settings)}}}\n"
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(root, os.path.dirname(REMOVED), ".gitignore"), "a+", encoding="utf-8") as ignore:
        ignore.seek(0)
        if "/removed/" not in ignore.read().split():
            ignore.write("/removed/\n")
    path = os.path.join(place, "main.tf")
    if not os.path.exists(path) or read_whole(path) != text.encode():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return Unit(
        removal.unit,
        folder,
        workspace=entry.workspace if entry.backend else "",
        place=removal.place,
        is_removed=True,
        stood_on=entry.after,
    )
