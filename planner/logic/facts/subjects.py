"""What a traversal names: the key under which the graph's rules know it (see `key` in rules/atoms.dl)."""

from __future__ import annotations

from typing import TypeAlias

from planner.foundation.vocabulary.address import format_key, join
from planner.language.syntax.nodes import GetAttr, GetIndex, Step, Traversal, Variable

Subject: TypeAlias = tuple[str, str | None]
"""the key, and the same without instance key when it has one"""

NO_VERTEX = frozenset(("count", "each", "self", "path", "terraform", "tofu", "template", "lazy", "arg"))


def subject(node: Traversal | Variable, module: str) -> Subject | None:
    """The key that a traversal in `module` means, or None when no vertex could answer to it."""
    if isinstance(node, Variable) or node.root in NO_VERTEX:
        return None
    steps, root = node.steps, node.root
    first = steps[0]
    if not isinstance(first, GetAttr):
        return None
    if root in ("var", "local"):
        return join(module, f"{root}.{first.name}"), None
    if root == "module":
        return _module_subject(join(module, f"module.{first.name}"), steps)
    if root in ("data", "ephemeral", "resource"):
        if len(steps) < 2 or not isinstance(steps[1], GetAttr):
            return None
        prefix = "" if root == "resource" else f"{root}."
        return _keyed(join(module, f"{prefix}{first.name}.{steps[1].name}"), steps, 2)
    return _keyed(join(module, f"{root}.{first.name}"), steps, 1)


def _keyed(general: str, steps: tuple[Step, ...], at: int) -> Subject:
    if len(steps) > at and isinstance(step := steps[at], GetIndex):
        return general + _key(step), general
    return general, None


def _module_subject(call: str, steps: tuple[Step, ...]) -> Subject:
    if len(steps) == 1:
        return call, None
    second = steps[1]
    if isinstance(second, GetAttr):
        return f"{call}.{second.name}", None
    if len(steps) > 2 and isinstance(output := steps[2], GetAttr):
        return f"{call}{_key(second)}.{output.name}", f"{call}.{output.name}"
    return call + _key(second), call


def _key(step: GetIndex) -> str:
    key = step.key
    return format_key(key if isinstance(key, (int, str)) else str(key))
