"""The words of the engine: Column, Predicate, Rule, Stratum."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.foundation.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.foundation.vocabulary.span import Span
    from planner.language.syntax.rule_syntax import Atom, Literal


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
    """Predicates that depend on each other (or one alone), and the rules that derive them. Strata stand in an order in
    which every one depends on earlier ones only."""

    predicates: tuple[str, ...]
    rules: tuple[int, ...]
    is_recursive: bool
