"""Describes the values of names in a failed expression, for diagnostics: `var.x is 5`, `each.key is "a"`.

As in OpenTofu (command/jsonentities/diagnostic.go), secret values are never shown. They are mentioned only if they
cause the problem. An unknown value is described by its type; the description mentions that the value is unknown only if
this is the problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from planner.foundation.values.convert import number_text
from planner.foundation.values.sets import quote
from planner.foundation.values.types import DYNAMIC, friendly_name
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, List, Map, Null, Set, Unknown, Value, type_of, unmark
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.scope import Scope
from planner.language.expressions.traverse import TraversalError, get_attr, index
from planner.language.syntax import nodes

Operands = tuple[tuple[str, str], ...]


class Compiled(Protocol):
    """A compiled expression; its `local_names` are needed to look up the values of local names."""

    @property
    def local_names(self) -> list[tuple[int, int, dict[str, int]]]: ...


class EvaluationMoment(Protocol):
    """The state of an evaluation when a problem occurs: its expression, and the values of names at that moment."""

    @property
    def node(self) -> Any: ...
    @property
    def program(self) -> Compiled: ...
    @property
    def scope(self) -> Scope: ...
    @property
    def source(self) -> Source: ...
    @property
    def slots(self) -> list[Value]: ...


def operand_values(
    node: Any, scope: Scope, source: Source | None, *, unknown: bool = False, secret: bool = False
) -> Operands:
    """Pairs (name, description of its value). `unknown`: whether unknown values cause the problem, so that they are
    described as unknown. `secret`: whether sensitive or ephemeral values cause it, so that they are mentioned."""
    operands: dict[str, str] = {}
    for reference in _references(node):
        try:
            value, used = scope.resolve(reference, source)
        except Failure:
            continue
        _record_value(operands, reference, used, value, unknown, secret)
    return tuple(sorted(operands.items()))


def operands_at(env: EvaluationMoment, start: int, end: int) -> Operands:
    """`operand_values` of the smallest expression that covers the text from start to end, with the current values of
    local names."""
    operands: dict[str, str] = {}
    for reference in _references(_smallest_covering(env.node, start, end)):
        loop = _loop(env, reference)
        if loop is None:
            try:
                value, used = env.scope.resolve(reference, env.source)
            except Failure:
                continue
            _record_value(operands, reference, used, value, False, False)
        elif loop[0] <= start and end <= loop[1]:  # elsewhere, the local name is out of scope
            _record_value(operands, reference, 0, env.slots[loop[2][_root(reference)]], False, False)
    return tuple(sorted(operands.items()))


def _loop(env: EvaluationMoment, reference: Any) -> tuple[int, int, dict[str, int]] | None:
    """The innermost loop that defines a local name: (start, end, {name: slot}); None for other names."""
    name, innermost = _root(reference), None
    for loop in env.program.local_names:
        if loop[0] <= reference.start < loop[1] and name in loop[2]:
            innermost = loop
    return innermost


def _root(reference: Any) -> str:
    return str(reference.name if reference.__class__ is nodes.Variable else reference.root)


def _record_value(found: dict[str, str], reference: Any, used: int, value: Value, unknown: bool, secret: bool) -> None:
    """Follow the steps of a reference as far as they are valid, and record a description of the value."""
    text = _root(reference)
    steps = () if reference.__class__ is nodes.Variable else reference.steps
    for i, step in enumerate(steps):
        if i >= used:
            try:
                value = get_attr(value, step.name) if isinstance(step, nodes.GetAttr) else index(value, step.key)
            except TraversalError:
                break
        text += _step_text(step)
    statement = describe(value, unknown, secret)
    if statement:
        found.setdefault(text, statement)


def _step_text(step: nodes.Step) -> str:
    if isinstance(step, nodes.GetAttr):
        return f".{step.name}"
    return f'["{step.key}"]' if isinstance(step.key, str) else f"[{step.key}]"


def describe(value: Value, unknown: bool = False, secret: bool = False) -> str:
    """A clause like `is 5`, to be appended to a name; "" if the value should not be mentioned. `unknown`: whether
    unknown values cause the problem. `secret`: whether sensitive or ephemeral values cause it."""
    plain, marks = unmark(value)
    for mark, words in ((SENSITIVE, "has a sensitive value"), (EPHEMERAL, "has an ephemeral value")):
        if mark in marks:
            return words if secret else ""
    if plain.__class__ is Unknown:
        if plain.type is DYNAMIC:
            return "will be known only after apply" if unknown else ""
        kind = friendly_name(plain.type)
        return f"is {_article(kind)} {kind}{', known only after apply' if unknown else ''}"
    return f"is {_compact(plain)}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _compact(value: Value) -> str:
    cls = value.__class__
    if cls is Null:
        return "null"
    if cls is bool:
        return "true" if value else "false"
    if cls is str:
        return quote(value)
    if cls is dict:
        names = sorted(value)
        if len(names) == 1:
            return f'object with 1 attribute "{names[0]}"'
        return f"object with {len(names)} attributes" if names else "object with no attributes"
    if cls is tuple or cls is List or cls is Set or cls is Map:
        count = len(value)
        kind = friendly_name(type_of(value))
        return f"{kind} with {count} element{'s' if count > 1 else ''}" if count else f"empty {kind}"
    return number_text(value)


# ---------------------------------------------------------------- walking syntax


def _children(node: Any) -> Iterator[Any]:
    for name in node.__slots__:
        part = getattr(node, name)
        if isinstance(part, nodes.SyntaxNode):
            yield part
        elif part.__class__ is tuple:
            yield from (p for p in part if isinstance(p, nodes.SyntaxNode))


def _references(node: Any) -> Iterator[Any]:
    if node.__class__ is nodes.Variable or node.__class__ is nodes.Traversal:
        yield node
    else:
        for child in _children(node):
            yield from _references(child)


def _smallest_covering(node: Any, start: int, end: int) -> Any:
    for child in _children(node):
        if child.start <= start and end <= child.end and not isinstance(child, nodes.GetAttr | nodes.GetIndex):
            return _smallest_covering(child, start, end)
    return node
