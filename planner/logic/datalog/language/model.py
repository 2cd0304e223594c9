"""The model of the engine: Column, Predicate, Rule, Stratum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeVar

from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Constant,
    Literal,
    Negation,
    RulePart,
    RuleVariable,
    Term,
    Wildcard,
)


class ColumnType(NamedTuple):
    """A type of columns. `ancestors`: the names of the type itself and of the types from which it is derived, up to
    symbol, number or any."""

    name: str
    ancestors: tuple[str, ...]
    doc: str | None = None

    @property
    def base(self) -> str:
        """The base type: symbol, number or any."""
        return self.ancestors[-1]

    def meet(self, other: ColumnType) -> ColumnType | None:
        """The narrower of two types if one of them is a subtype of the other, otherwise None. `any` matches every
        type."""
        if other.name in self.ancestors or other.name == "any":
            return self
        return other if self.name in other.ancestors or self.name == "any" else None


SYMBOL = ColumnType("symbol", ("symbol",), "A string.")
NUMBER = ColumnType("number", ("number",), "A number.")
ANY = ColumnType("any", ("any",), "Any value.")
BASE_TYPES = {t.name: t for t in (SYMBOL, NUMBER, ANY)}


class Column(NamedTuple):
    name: str
    type: ColumnType


@frozen
class Predicate:
    """A declared relation. `is_input`: whether its rows are facts, so that it has no rules. `is_output`: whether its
    rows are results, which are read outside the rules. `is_open`: whether users' rules may derive rows of the
    predicate. `is_core`: whether it is declared in a file of the product. `operator`: the native operator that computes
    the predicate; None if rules derive it. `inputs`: the predicates from which the operator computes it."""

    number: int
    name: str
    columns: tuple[Column, ...]
    doc: str
    span: Span
    is_input: bool
    is_output: bool
    is_open: bool
    is_core: bool
    operator: str | None = None
    inputs: tuple[str, ...] = ()
    is_exported: bool = False  # whether other namespaces may use the predicate

    @property
    def space(self) -> str:
        """The namespace in the name; "" if there is none."""
        return self.name.rpartition(".")[0]

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def declaration(self) -> str:
        """The declaration as text, such as `edge(dependent: node, dependency: node)`."""
        return f"{self.name}({', '.join(f'{c.name}: {c.type.name}' for c in self.columns)})"


@frozen
class Rule:
    """A rule or, without a body, a fact in a rule file. `name`: the name in an annotation. Without an annotation, it
    consists of the file and the position (`house.2`) or, for a fact of the product, of the file and the text
    (`graph/targets.module_form("module")`). `reason`: a line that may contain variables in braces; "" if there is none.
    `text`: the rule on one line."""

    number: int
    name: str
    head: Atom
    body: tuple[Literal, ...]
    reason: str
    text: str
    span: Span
    is_core: bool

    @property
    def file(self) -> str:
        return self.span.filename

    @property
    def line(self) -> int:
        return self.span.line


class Stratum(NamedTuple):
    """Predicates that depend on each other (or a single predicate), and the numbers of the rules that derive them. A
    stratum depends only on earlier strata."""

    predicates: tuple[str, ...]
    rules: tuple[int, ...]
    is_recursive: bool


def variables(node: RulePart) -> list[RuleVariable]:
    """The variables of a term or literal in source order, with repetitions."""
    result: list[RuleVariable] = []
    for part in [node] if isinstance(node, RuleVariable) else node.children():
        if isinstance(part, RuleVariable):
            result.append(part)
        elif not isinstance(part, Constant):
            result += variables(part)
    return result


def inner_variables(aggregate: Aggregate) -> list[RuleVariable]:
    return [variable for node in aggregate.children()[1:] for variable in variables(node)]


def inner_names(aggregate: Aggregate) -> set[str]:
    return {v.name for v in inner_variables(aggregate)}


def names(*nodes: RulePart) -> set[str]:
    return {v.name for node in nodes for v in variables(node)}


def name_of(term: Term | None) -> str | None:
    """The name of a variable; None for other terms."""
    return term.name if isinstance(term, RuleVariable) else None


def listed_values(literal: Builtin, variable: RuleVariable) -> frozenset[Any] | None:
    """The constants that may be the value of a variable according to a literal such as `T in ["a", "b"]`; None for
    other literals."""
    if literal.relation != MEMBER or literal.negated or name_of(literal.outputs[0]) != variable.name:
        return None
    listed = [a.value for a in literal.inputs if isinstance(a, Constant)]
    return frozenset(listed) if len(listed) == len(literal.inputs) else None


def outer_names(head: Atom | None, body: tuple[Literal, ...]) -> set[str]:
    """The names of variables that occur outside the braces of aggregates. Within the braces, variables with these names
    are fixed, and all others are local."""
    outside = (literal.result if isinstance(literal, Aggregate) else literal for literal in body)
    return names(*outside) if head is None else names(head, *outside)


def without_wildcards(body: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """The body of an aggregate, with a new variable in place of each wildcard, so that rows that differ only in the
    column of a wildcard are counted separately."""
    numbers = count(1)

    def variable(term: Term) -> Term:
        return RuleVariable(f" {next(numbers)}", term.start, term.end) if isinstance(term, Wildcard) else term

    return tuple(
        x.mapped(variable) if isinstance(x, Atom) or (isinstance(x, Builtin) and not x.negated) else x for x in body
    )


def atoms(body: tuple[Literal, ...]) -> Iterator[tuple[Atom, str]]:
    """(atom, "positive", "negation" or "aggregate") for each atom of a body, including the atoms in negations and
    aggregates."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal, "positive"
        elif isinstance(literal, Negation):
            yield literal.atom, "negation"
        elif isinstance(literal, Aggregate):
            for atom, _ in atoms(literal.body):
                yield atom, "aggregate"


N = TypeVar("N", bound=RulePart)


def replaced(node: N, change: Callable[[RuleVariable], Term]) -> N:
    """A term or literal with each variable replaced by the result of `change`."""
    made: Any = change(node) if isinstance(node, RuleVariable) else node.mapped(lambda part: replaced(part, change))
    return made  # type: ignore[no-any-return]


def renamed(node: N, names: Mapping[str, str]) -> N:
    return replaced(node, lambda v: RuleVariable(names.get(v.name, v.name), v.start, v.end))
