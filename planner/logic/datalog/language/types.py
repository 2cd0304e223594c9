"""Checks types of columns: every variable has exactly one type, and the operands of comparisons and computations must
have types that match. Two columns may share a variable if the type of one of them is a subtype of the other. `any`
matches all types, but a value that comes only from columns of type `any` needs a test by `is_number` or `is_symbol`
before it is used in a column with another type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Comparison,
    Constant,
    Literal,
    Negation,
    RuleCall,
    RuleVariable,
    Term,
    Test,
)
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.model import ANY, BASE_TYPES, NUMBER, SYMBOL, ColumnType, Predicate, Rule


def column_types(rules: Iterable[Rule], predicates: Mapping[str, Predicate]) -> Iterator[Diagnostic]:
    for rule in rules:
        yield from RuleTypes(rule.head, rule.body, predicates, rule.span).check()


def fits_column(constant: Constant, column: ColumnType) -> bool:
    kind = type(constant.value)
    return (
        column.base == "any"
        or (kind is str and column.base == "symbol")
        or (kind is not str and kind is not bool and column.base == "number")
    )


class RuleTypes:
    """The types of the variables of one rule. `bound`: the types that follow from positive literals and computations;
    the compiler can rely on these types. Local variables of different aggregates have different names (link.py)."""

    def __init__(
        self, head: Atom | None, body: tuple[Literal, ...], predicates: Mapping[str, Predicate], span: Span
    ) -> None:
        self.head, self.body, self.predicates, self.span = head, body, predicates, span
        self.bound: dict[str, ColumnType] = {}
        self.where: dict[str, str] = {}
        self.problems: list[Diagnostic] = []
        self._bind(body)

    # -------- sources of types

    def _bind(self, body: tuple[Literal, ...]) -> None:
        for literal in body:
            if isinstance(literal, Atom):
                self._bind_atom(literal)
            elif isinstance(literal, Aggregate):
                self._bind(literal.body)
        for _ in body:  # a chain of computations is at most as long as the body
            for literal in body:
                if isinstance(literal, Builtin) and not literal.negated:
                    self._bind_outputs(literal)
                if isinstance(literal, Comparison) and literal.operator == "=":
                    for target, value in literal.sides:
                        if isinstance(target, RuleVariable) and target.name not in self.bound:
                            kind = self.of(value)
                            if kind is not None:
                                self.bound[target.name] = kind
                                self.where[target.name] = str(literal)
                elif isinstance(literal, Aggregate) and isinstance(literal.result, RuleVariable):
                    kind = NUMBER if literal.function in ("count", "sum") else self.of(literal.expression)
                    if kind is not None and literal.result.name not in self.bound:
                        self.bound[literal.result.name] = kind
                        self.where[literal.result.name] = str(literal)

    def _bind_atom(self, atom: Atom) -> None:
        for argument, column in zip(atom.arguments, self.predicates[atom.predicate].columns, strict=True):
            place = f"{atom.predicate}.{column.name}"
            if isinstance(argument, RuleVariable):
                known = self.bound.get(argument.name)
                met = column.type if known is None else known.meet(column.type)
                if met is None:
                    self._clash(argument, known, self.where[argument.name], column.type, place)
                elif met is not known:
                    self.bound[argument.name], self.where[argument.name] = met, place
            else:
                self._fits(argument, column.type, place)

    def _bind_outputs(self, literal: Builtin) -> None:
        for argument, kind in zip(literal.outputs, self._outputs(literal), strict=True):
            if isinstance(argument, RuleVariable) and argument.name not in self.bound and kind is not None:
                self.bound[argument.name] = kind
                self.where[argument.name] = str(literal)

    def _outputs(self, literal: Builtin) -> list[ColumnType | None]:
        """The types of the outputs of a built-in relation; None for a type that is still unknown."""
        if literal.relation != MEMBER:
            return [BASE_TYPES[kind] for _, kind in RELATIONS[literal.relation].outputs]
        kinds = [self.of(value) for value in literal.inputs]
        bases = {kind.base for kind in kinds if kind is not None}
        if None in kinds:
            return [None]
        return [
            kinds[0] if len({k.name for k in kinds if k}) == 1 else BASE_TYPES[bases.pop()] if len(bases) == 1 else ANY
        ]

    def of(self, term: Term | None) -> ColumnType | None:
        """The type of a term; None if it is not (yet) known."""
        if isinstance(term, RuleVariable):
            return self.bound.get(term.name)
        if isinstance(term, Constant):
            kind = type(term.value)
            return SYMBOL if kind is str else ANY if kind is bool else NUMBER
        if isinstance(term, RuleCall) and term.function in RELATIONS:  # the call only tests whether there are rows
            return ANY
        if isinstance(term, RuleCall) and term.function in FUNCTIONS:
            return BASE_TYPES[FUNCTIONS[term.function].result or "any"]
        return None

    # -------- uses of types

    def check(self) -> list[Diagnostic]:
        narrowed = dict(self.bound)
        for literal in self.body:
            if isinstance(literal, Test) and literal.function in ("is_number", "is_symbol") and not literal.negated:
                (argument,) = literal.arguments
                if isinstance(argument, RuleVariable) and (self.bound.get(argument.name) or NUMBER).name == "any":
                    narrowed[argument.name] = NUMBER if literal.function == "is_number" else SYMBOL
            elif isinstance(literal, Builtin) and not literal.negated:
                for argument, kind in zip(literal.outputs, self._outputs(literal), strict=True):
                    if (
                        isinstance(argument, RuleVariable)
                        and kind
                        and (self.bound.get(argument.name) or kind).name == "any"
                    ):
                        narrowed[argument.name] = BASE_TYPES[kind.base]
        self._check(self.body)
        self.bound = narrowed
        if self.head is not None:
            columns = self.predicates[self.head.predicate].columns
            for argument, column in zip(self.head.arguments, columns, strict=True):
                self._term(argument)
                self._fits(argument, column.type, f"{self.head.predicate}.{column.name}", is_head=True)
        return self.problems

    def _check(self, body: tuple[Literal, ...]) -> None:
        for literal in body:
            if isinstance(literal, Negation):
                columns = self.predicates[literal.atom.predicate].columns
                for argument, column in zip(literal.atom.arguments, columns, strict=True):
                    self._fits(argument, column.type, f"{literal.atom.predicate}.{column.name}")
            elif isinstance(literal, Test):
                self._infer_arguments(literal.function, literal.arguments, TESTS[literal.function].parameters)
            elif isinstance(literal, Comparison):
                self._compare(literal)
            elif isinstance(literal, Builtin):
                self._check_builtin(literal)
            elif isinstance(literal, Aggregate):
                self._check(literal.body)
                if literal.expression is not None:
                    self._term(literal.expression)
                    kind = self.of(literal.expression)
                    if literal.function == "sum" and kind is not None and kind.base == "symbol":
                        self._error(f"sum adds numbers; {literal.expression} is a {kind.name}.", literal.expression)

    def _check_builtin(self, literal: Builtin) -> None:
        """Check the inputs of a built-in relation, and those of its outputs whose type is already known."""
        outputs = self._outputs(literal)
        if literal.relation == MEMBER:
            (subject,) = literal.outputs
            self._term(subject)
            kind = self.of(subject)
            for value in literal.inputs:
                self._term(value)
                other = self.of(value)
                if kind and other and "any" not in (kind.base, other.base) and kind.base != other.base:
                    self._error(f"{subject} is a {kind.name} and {value} a {other.name}: they are never equal.", value)
                    break  # one error is sufficient, because there may be very many similar errors
            return
        self._infer_arguments(literal.relation, literal.inputs, RELATIONS[literal.relation].parameters)
        for argument, wanted in zip(literal.outputs, outputs, strict=True):
            kind = self.of(argument)
            if kind and wanted and "any" not in (kind.base, wanted.base) and kind.base != wanted.base:
                self._error(
                    f"{literal.relation} returns a {wanted.name} here, but {argument} is a {kind.name}.", argument
                )

    def _term(self, term: Term) -> None:
        if isinstance(term, RuleCall):
            self._infer_arguments(
                term.function, term.arguments, (FUNCTIONS.get(term.function) or RELATIONS[term.function]).parameters
            )

    def _infer_arguments(self, name: str, arguments: tuple[Term, ...], parameters: tuple[str, ...]) -> None:
        for argument, wanted in zip(arguments, parameters, strict=True):
            self._term(argument)
            kind = self.of(argument)
            if kind is not None and "any" not in (wanted, kind.base) and kind.base != wanted:
                self._error(f"{name} needs a {wanted} here, but {argument} is a {kind.name}.", argument)

    def _compare(self, literal: Comparison) -> None:
        self._term(literal.left)
        self._term(literal.right)
        left, right = self.of(literal.left), self.of(literal.right)
        if left is None or right is None:
            return
        related = left.meet(right) if literal.operator in ("=", "!=") else left.base == right.base
        if not related and "any" not in (left.base, right.base):
            self._error(
                f"{literal.left} is a {left.name} and {literal.right} a {right.name}: the result of this comparison "
                "is always the same.",
                literal,
            )

    def _fits(self, argument: Term, wanted: ColumnType, place: str, is_head: bool = False) -> None:
        """Check a term in a column of type `wanted`. The types of the term and of the column must match. In a head, the
        type of the term must be known."""
        kind = self.of(argument)
        if kind is None:
            return
        if kind.meet(wanted) is None:
            where = self.where[argument.name] if isinstance(argument, RuleVariable) else str(argument)
            self._clash(argument, kind, where, wanted, place)
        elif is_head and kind.name == "any" and wanted.name != "any":
            if isinstance(argument, Constant):
                self._clash(argument, kind, str(argument), wanted, place)
                return
            test = f"is_{wanted.base}({argument})"
            self._error(f"{place} is a {wanted.name}, but {argument} can be any value. Add {test}.", argument)
        elif isinstance(argument, Constant) and kind.name == "any" and wanted.name != "any":
            self._clash(argument, kind, str(argument), wanted, place)

    def _clash(self, argument: Term, kind: ColumnType | None, where: str, wanted: ColumnType, place: str) -> None:
        have = kind.name if kind is not None else "any"
        if isinstance(argument, RuleVariable):
            text = f"{argument} is a {have} in {where} and a {wanted.name} in {place}."
            text += " One of the two types must be a subtype of the other."
        else:
            text = f"{place} is a {wanted.name}, but {argument} is not."
        self._error(text, argument)

    def _error(self, detail: str, node: Term | Literal) -> None:
        span = Span(self.span.source, node.start, node.end)
        self.problems.append(error("rules.type", "Type mismatch", detail, span))
