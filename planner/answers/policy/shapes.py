"""Checks policies against provider schemas. Reports paths that do not exist in objects, and comparisons that never
hold.

The resource types of a variable are found in literals such as `change(A, "aws_instance", ...)`, `stays(A,
"aws_instance")` or `instance_of(A, "aws_instance.web")`. Instead of a constant, a literal may contain a variable whose
values are given by facts (`group_type(T)`) or by a list (`T in ["a", "b"]`). If the type is not known, nothing is
reported."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Protocol

from planner.answers.policy.planned_values import VALUES
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Atom,
    Builtin,
    Comparison,
    Constant,
    Literal,
    RuleVariable,
    Term,
)
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Rule, atoms, name_of


class Shapes(Protocol):
    """The available schemas."""

    def __call__(self, mode: str, type: str) -> Type | None:
        """The type of the objects of a resource type; None if no schema of this resource type is available."""

    def types(self, mode: str) -> Collection[str]:
        """The resource types in the available schemas."""

    def lacks(self, mode: str, type: str) -> str:
        """The available provider to which a resource type belongs according to its name, but whose schema does not
        contain the type; "" if there is no such provider."""


READERS = VALUES | {"prior"}
"""relations whose first columns are an address and a path; the last column of `configured` and `planned` is the
value"""
PATHS = READERS | {"replace_path", "unknown_after", "unknown_because", "sensitive_at", "json_value", "json_part"}
"""relations whose first columns are the address of an object and a path in the object"""
_AT = frozenset(("planned", "configured", "prior"))
_CONTAINERS = (ListType, SetType, MapType, TupleType, ObjectType)
_STEP = re.compile(r'\.?([A-Za-z_][\w-]*)|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]')
_WRITTEN = {STRING: "text", NUMBER: "a number", BOOL: "a truth value"}


def steps(path: str) -> list[str | int] | None:
    """The steps of a path such as `ingress[0].cidr_blocks[1]` or `tags["a.b"]`; None if it is invalid."""
    results: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, index, key = match.groups()
        results.append(int(index) if index is not None else name if name is not None else re.sub(r"\\(.)", r"\1", key))
        at = match.end()
    return results


def type_at(type: Type, path: str) -> tuple[Type | None, str]:
    """(type at a path, ""). For a path that does not exist in the type, the result is None with the end of a sentence
    that names the wrong step and a similar name."""
    here: Type = type
    for step in steps(path) or []:
        if here is DYNAMIC:
            return DYNAMIC, ""
        if isinstance(here, ObjectType):
            if step not in here.attributes:
                return None, f"{step}.{did_you_mean(str(step), here.attributes)}"
            here = here.attributes[str(step)]
        elif isinstance(here, TupleType):
            if not isinstance(step, int) or step >= len(here.elements):
                return None, f"{step}."
            here = here.elements[step]
        elif (element := getattr(here, "element", None)) is not None and isinstance(here, MapType) == isinstance(
            step, str
        ):
            here = element
        else:
            return None, f"{step}."
    return here, ""


def paths(type: Type, deepest: int = 3) -> Iterator[str]:
    """The paths in objects of a type, for completion. [0] means each element of a list or set. `deepest`: the maximum
    depth."""
    yield from _paths("", type, deepest)


def _paths(path: str, type: Type, deepest: int) -> Iterator[str]:
    if path:
        yield path
    if deepest and isinstance(type, ObjectType):
        for name in sorted(type.attributes):
            yield from _paths(f"{path}.{name}" if path else name, type.attributes[name], deepest - 1)
    elif isinstance(type, ListType | SetType) and isinstance(type.element, ObjectType):
        yield from _paths(f"{path}[0]", type.element, deepest)


def misfits(program: RuleProgram, shapes: Shapes) -> Iterator[Diagnostic]:
    """Errors for conditions in users' rules that no object can satisfy, because they require types or attributes that
    do not exist, or values of the wrong type."""
    for rule in program.rules:
        if not rule.is_core:
            yield from _Misfits(program, rule, shapes).find()


class _Misfits:
    def __init__(self, program: RuleProgram, rule: Rule, shapes: Shapes) -> None:
        self.program, self.rule, self.shapes = program, rule, shapes
        self.types = resource_types(program, rule)

    def find(self) -> Iterator[Diagnostic]:
        yield from self._no_types()
        for atom, _ in atoms(self.rule.body):
            if atom.predicate not in PATHS or not isinstance(atom.arguments[0], RuleVariable):
                continue
            path = constant_path(self.rule, atom.arguments[1])
            objects = {t: self.shapes(*t) for t in self.types.get(atom.arguments[0].name, ())}
            if path is None or not objects or None in objects.values():
                continue
            table = {kind: type_at(shape, path) for kind, shape in objects.items() if shape is not None}
            fitting = [type for type, _ in table.values() if type is not None]
            if not fitting:
                yield self._no_path(atom, path, {kind[1]: why for kind, (_, why) in table.items()})
            elif atom.predicate in _AT:
                if all(isinstance(type, _CONTAINERS) for type in fitting):
                    yield self._no_value(atom, path)
                else:
                    yield from self._comparisons(atom, path, fitting)

    def _no_types(self) -> Iterator[Diagnostic]:
        """Errors for a rule about resource types that no available provider supports."""
        for name, kinds in self.types.items():
            lacking = {kind: self.shapes.lacks(*kind) for kind in sorted(kinds)}
            if not all(lacking.values()):
                continue
            (mode, type), source = next(iter(lacking.items()))
            what = "data source" if mode == "data" else "resource"
            detail = f"The provider {source} has no {what} {type}.{did_you_mean(type, self.shapes.types(mode))}"
            atom = next(a for a, _ in atoms(self.rule.body) if a.arguments and str(a.arguments[0]) == name)
            yield self._error("policy.no_type", "No such resource type", detail, atom)

    def _no_value(self, atom: Atom, path: str) -> Diagnostic:
        detail = (
            f"{path} is a list, set, map or object. Only its elements have values in {atom.predicate}: "
            f'part({atom.arguments[0]}, "{path}", Key, P), {atom.predicate}({atom.arguments[0]}, P, Value).'
        )
        return self._error("policy.no_value", "No value at this path", detail, atom)

    def _no_path(self, atom: Atom, path: str, why: dict[str, str]) -> Diagnostic:
        kind = sorted(why)[0]
        others = f" (nor have {', '.join(sorted(why)[1:])})" if len(why) > 1 else ""
        detail = f"{kind} has no {path}{others}: there is no {why[kind]}"
        return self._error("policy.no_path", "No such path", detail, atom)

    def _comparisons(self, atom: Atom, path: str, types: list[Type]) -> Iterator[Diagnostic]:
        if not all(type in _WRITTEN for type in types) or len(set(types)) > 1:
            return
        value = atom.arguments[-1]
        compared: list[tuple[Constant, Any]] = []
        if isinstance(value, Constant):
            compared.append((value, atom))
        elif isinstance(value, RuleVariable):
            compared += _compared(self.rule, value.name)
        for constant, literal in compared:
            kind = _kind(constant)
            if kind is not types[0]:
                detail = f"{path} is {_WRITTEN[types[0]]}, and {constant} is {_WRITTEN[kind]}: the two are never equal."  # type: ignore[index]
                yield self._error("policy.misfit", "Comparison is never true", detail, literal)

    def _error(self, code: str, summary: str, detail: str, at: Atom | Literal) -> Diagnostic:
        return error(code, summary, detail, Span(self.rule.span.source, at.start, at.end))


def _kind(constant: Constant) -> Type:
    if isinstance(constant.value, bool):
        return BOOL
    return STRING if isinstance(constant.value, str) else NUMBER


def _compared(rule: Rule, name: str) -> Iterator[tuple[Constant, Comparison]]:
    for literal in rule.body:
        if isinstance(literal, Comparison):
            for one, other in literal.sides:
                if name_of(one) == name and isinstance(other, Constant):
                    yield other, literal


# ---------------------------------------------------------------- conditions on variables


def resource_types(program: RuleProgram, rule: Rule) -> dict[str, set[tuple[str, str]]]:
    """{variable: possible (mode, type) of the resource whose address is the value of the variable}. Variables without
    known types are left out."""
    result: dict[str, set[tuple[str, str]]] = {}
    for literal in rule.body:
        if (
            not isinstance(literal, Atom)
            or literal.predicate not in TYPED
            or not isinstance(literal.arguments[0], RuleVariable)
        ):
            continue
        mode, term = "managed", literal.arguments[1]
        if literal.predicate == "change" and isinstance(literal.arguments[-1], Constant):
            mode = str(literal.arguments[-1].value)
        if literal.predicate == "instance_of":
            named = [_OBJECT.search(object) for object in _constants(program, rule, term)]
            kinds = {("data" if match[1] else "managed", match[2]) for match in named if match is not None}
        else:
            kinds = {(mode, type) for type in _constants(program, rule, term)}
        name = literal.arguments[0].name
        if kinds:
            result[name] = result.get(name, kinds) & kinds or kinds
    return result


TYPED = ("change", "stays", "instance_of")
"""relations from an address to its type, or to its resource"""
_OBJECT = re.compile(r"(?:^|\.)(data\.)?([\w-]+)\.[\w-]+$")


def _constants(program: RuleProgram, rule: Rule, term: Term) -> set[str]:
    """The strings that may be the value of a term, if constants or facts in rule files determine them; otherwise
    empty."""
    if isinstance(term, Constant):
        return {str(term.value)}
    if not isinstance(term, RuleVariable):
        return set()
    for literal in rule.body:
        if isinstance(literal, Comparison) and str(literal.left) == term.name and isinstance(literal.right, Constant):
            return {str(literal.right.value)} if literal.operator == "=" else set()
        if isinstance(literal, Builtin) and literal.relation == MEMBER and str(literal.outputs[0]) == term.name:
            listed = {str(value.value) for value in literal.inputs if isinstance(value, Constant)}
            return listed if not literal.negated and len(listed) == len(literal.inputs) else set()
        if isinstance(literal, Atom) and literal.predicate not in TYPED:
            for column, argument in enumerate(literal.arguments):
                if name_of(argument) == term.name:
                    given = _facts(program, literal.predicate, column)
                    if given:
                        return given
    return set()


def _facts(program: RuleProgram, predicate: str, column: int) -> set[str]:
    """The values in a column of a relation, if the relation consists only of facts in rule files; otherwise empty."""
    rules = program.rules_for(predicate)
    if not rules or program.predicates[predicate].is_open:
        return set()
    values = [rule.head.arguments[column] for rule in rules if not rule.body]
    if len(values) != len(rules) or not all(isinstance(value, Constant) for value in values):
        return set()
    return {str(value.value) for value in values if isinstance(value, Constant)}


def constant_path(rule: Rule, term: Term) -> str | None:
    """The constant path that is the value of a term; None if the value is computed from rows."""
    if isinstance(term, Constant):
        return str(term.value)
    if not isinstance(term, RuleVariable):
        return None
    equal = (constant for constant, literal in _compared(rule, term.name) if literal.operator == "=")
    return next((str(constant.value) for constant in equal), None)
