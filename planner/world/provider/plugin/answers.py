"""Converts parts of a plugin's responses: diagnostics, paths, and values of write-only attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.foundation.values.paths import parts
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.value import Null, Value
from planner.world.provider.interface import AttributeDiagnostic

Path = tuple[Any, ...]
_WARNING = 2


def diagnostics(given: Iterable[Any]) -> list[AttributeDiagnostic]:
    """The diagnostics of a response. A diagnostic without an attribute refers to the whole body."""
    problems = []
    for problem in given:
        severity = "warning" if problem.severity == _WARNING else "error"
        at = path(problem.attribute) if problem.HasField("attribute") else ()
        problems.append(AttributeDiagnostic(severity, problem.summary, problem.detail, at))
    return problems


def path(given: Any) -> Path:
    """An attribute path of the protocol as steps ("attr", name) and ("index", key)."""
    steps: list[tuple[str, Any]] = []
    for step in given.steps:
        chosen = step.WhichOneof("selector")
        if chosen == "attribute_name":
            steps.append(("attr", step.attribute_name))
        elif chosen is not None:
            steps.append(("index", getattr(step, chosen)))
    return tuple(steps)


def failure(summary: str, detail: str) -> AttributeDiagnostic:
    """An error of the plugin that does not refer to the configuration."""
    return AttributeDiagnostic("error", summary, detail, None)


def kept_write_only(block: BlockSchema, value: Value, at: Path = ()) -> Iterator[Path]:
    """The paths of write-only attributes for which the provider returned values, although it must return null."""
    if value.__class__ is not dict:
        return
    yield from _kept_paths(block.attributes, value, at)
    for name, nested in block.blocks.items():
        here, inner = (*at, ("attr", name)), value[name]
        if nested.nesting in ("single", "group"):
            yield from kept_write_only(nested.block, inner, here)
        elif inner.__class__ is not Null:
            for step, item in parts(inner):
                yield from kept_write_only(nested.block, item, (*here, step))


def _kept_paths(attributes: dict[str, AttributeSchema], value: Value, at: Path) -> Iterator[Path]:
    for name, attribute in attributes.items():
        here, inner = (*at, ("attr", name)), value[name]
        if attribute.write_only and inner.__class__ is not Null:
            yield here
        elif attribute.nested is not None:
            items = [((), inner)] if attribute.nested.nesting in ("single", "group") else list(parts(inner))
            for step, item in items:
                if item.__class__ is dict:
                    yield from _kept_paths(attribute.nested.attributes, item, (*here, *([step] if step else [])))
