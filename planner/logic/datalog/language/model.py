"""The words of the engine: Column, Predicate, Rule, Stratum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Comparison,
    Literal,
    Negation,
    RuleCall,
    RuleNode,
    RuleVariable,
    Term,
    Test,
)

if TYPE_CHECKING:
    from planner.foundation.vocabulary.span import Span


class ColumnType(NamedTuple):
    """A type of columns. `ancestors` are the type itself, then its bases up to symbol, number or any."""

    name: str
    ancestors: tuple[str, ...]
    doc: str | None = None

    @property
    def base(self) -> str:
        """symbol, number or any."""
        return self.ancestors[-1]

    def meet(self, other: ColumnType) -> ColumnType | None:
        """The narrower of two types of which one is a kind of the other; None for unrelated ones. `any` goes with
        every type."""
        if other.name in self.ancestors or other.name == "any":
            return self
        return other if self.name in other.ancestors or self.name == "any" else None


SYMBOL = ColumnType("symbol", ("symbol",), "A string.")
NUMBER = ColumnType("number", ("number",), "A whole number.")
ANY = ColumnType("any", ("any",), "Any value.")
BASE_TYPES = {t.name: t for t in (SYMBOL, NUMBER, ANY)}


class Column(NamedTuple):
    name: str
    type: ColumnType


@frozen
class Predicate:
    """A declared relation. `is_input`: facts are given, no rule derives it. `is_output`: read from outside the rules.
    `is_open`: users' rules may add to it. `operator` and `inputs`: a native operator computes it from these."""

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
    is_exported: bool = False
    """other name spaces may use it"""

    @property
    def space(self) -> str:
        """The name space that it belongs to; "" for none."""
        return self.name.rpartition(".")[0]

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def declaration(self) -> str:
        """`edge(dependent: node, dependency: node)`."""
        return f"{self.name}({', '.join(f'{c.name}: {c.type.name}' for c in self.columns)})"


@frozen
class Rule:
    """A rule or (without body) a fact written in a rule file. `name` is the given one, else the file
    with the rule's place (`house.2`) or, of the product's facts, the text (`graph/targets.module_form("module")`).
    `reason` is a line that may name variables in braces; empty if none was given. `text` is the rule on one line."""

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
    """Predicates that depend on each other (or one alone), and the rules that derive them. Strata are in an order in
    which every one depends on earlier ones only."""

    predicates: tuple[str, ...]
    rules: tuple[int, ...]
    is_recursive: bool


# What stands in a literal: its variables and atoms.


def variables(node: RuleNode) -> Iterator[RuleVariable]:
    """The variables of a term or literal in textual order, each occurrence once."""
    if isinstance(node, RuleVariable):
        yield node
    elif isinstance(node, Atom | RuleCall | Test):
        for argument in node.arguments:
            yield from variables(argument)
    elif isinstance(node, Negation):
        yield from variables(node.atom)
    elif isinstance(node, Builtin):
        for argument in written_arguments(node):
            yield from variables(argument)
    elif isinstance(node, Comparison):
        yield from variables(node.left)
        yield from variables(node.right)
    elif isinstance(node, Aggregate):
        yield from variables(node.result)
        yield from inner_variables(node)


def written_arguments(literal: Builtin) -> tuple[Term, ...]:
    """The inputs and outputs of a built-in relation in the order in which they are written."""
    if literal.relation == MEMBER:
        return (*literal.outputs, *literal.inputs)
    return (*literal.inputs, *literal.outputs)


def inner_variables(aggregate: Aggregate) -> Iterator[RuleVariable]:
    """The variables between the braces of an aggregate and in its expression."""
    if aggregate.expression is not None:
        yield from variables(aggregate.expression)
    for literal in aggregate.body:
        yield from variables(literal)


def names(node: RuleNode) -> set[str]:
    return {v.name for v in variables(node)}


def outer_names(head: Atom | None, body: tuple[Literal, ...]) -> set[str]:
    """The names that occur outside the braces of aggregates: inside they are fixed, all others are local there."""
    outer = names(head) if head is not None else set()
    for literal in body:
        outer |= names(literal.result) if isinstance(literal, Aggregate) else names(literal)
    return outer


def atoms(body: tuple[Literal, ...]) -> Iterator[tuple[Atom, str]]:
    """The atoms of a body with how they are read: "positive", "negation" or "aggregate"."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal, "positive"
        elif isinstance(literal, Negation):
            yield literal.atom, "negation"
        elif isinstance(literal, Aggregate):
            for atom, _ in atoms(literal.body):
                yield atom, "aggregate"


def with_arguments(literal: Atom | Builtin, arguments: tuple[Term, ...]) -> Atom | Builtin:
    """The literal with other terms for its columns, of a built-in relation for its outputs."""
    if isinstance(literal, Atom):
        return Atom(literal.predicate, arguments, literal.start, literal.end)
    return Builtin(literal.relation, literal.inputs, arguments, literal.negated, literal.start, literal.end)


N = TypeVar("N", bound=RuleNode)


def renamed(node: N, names: Mapping[str, str]) -> N:
    """A term or literal with other names for some variables."""
    made: RuleNode = node
    if isinstance(node, RuleVariable):
        made = RuleVariable(names.get(node.name, node.name), node.start, node.end)
    elif isinstance(node, Atom):
        made = Atom(node.predicate, tuple(renamed(a, names) for a in node.arguments), node.start, node.end)
    elif isinstance(node, RuleCall):
        made = RuleCall(node.function, tuple(renamed(a, names) for a in node.arguments), node.start, node.end)
    elif isinstance(node, Test):
        arguments = tuple(renamed(a, names) for a in node.arguments)
        made = Test(node.function, arguments, node.negated, node.start, node.end)
    elif isinstance(node, Builtin):
        inputs = tuple(renamed(a, names) for a in node.inputs)
        outputs = tuple(renamed(a, names) for a in node.outputs)
        made = Builtin(node.relation, inputs, outputs, node.negated, node.start, node.end)
    elif isinstance(node, Negation):
        made = Negation(renamed(node.atom, names), node.start, node.end)
    elif isinstance(node, Comparison):
        left, right = renamed(node.left, names), renamed(node.right, names)
        made = Comparison(node.operator, left, right, node.start, node.end)
    elif isinstance(node, Aggregate):
        expression = None if node.expression is None else renamed(node.expression, names)
        body = tuple(renamed(x, names) for x in node.body)
        made = Aggregate(renamed(node.result, names), node.function, expression, body, node.start, node.end)
    return made  # type: ignore[return-value]
