"""Finds computations without a value. They would silently prevent verdicts, so they are reported.

A literal without a value does not hold, so a denial may be missing. For example, if a size is "large", the condition
`size > 10` does not hold, and a sum of such sizes does not exist. Therefore rules for `broken` are added for each
literal that may have no value. Such a rule holds if all other literals hold and this literal has no value. The same
engine evaluates and explains these rules.

The following computations have no value: arithmetic and number functions of values that are not numbers; a division by
zero; `to_number` of a string that is not a number; a function of address ranges, versions or times (see
planner.logic.datalog.language.builtins) on a string of another kind; a comparison by order of a string and a number; an
aggregate over such values; and, in a verdict itself, `min` and `max` of an empty set.

In two cases, a literal without a value does not hold, but is not reported. In the first case, a function that searches
a string (`before`, `after`, ...) finds nothing. In the second case, a rule that is not for a verdict compares values
that it reads at all paths of an object (`planned(A, P, V), V > 10`). Such a rule selects the paths with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, product

from planner.answers.policy.planned_values import AT_PATHS, VALUES
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Comparison,
    Constant,
    Literal,
    RuleCall,
    RuleVariable,
    Term,
    Test,
)
from planner.logic.datalog.language.builtins import FUNCTIONS, KINDS, TESTS
from planner.logic.datalog.language.builtins import BuiltinPredicate as Entry
from planner.logic.datalog.language.checks import bound_names
from planner.logic.datalog.language.constructed import (
    call,
    compared,
    concatenation,
    constant,
    count_of,
    holds,
    variable,
)
from planner.logic.datalog.language.model import (
    Predicate,
    Rule,
    atoms,
    inner_names,
    names,
    outer_names,
    renamed,
    replaced,
)
from planner.logic.datalog.language.order import needed_names
from planner.logic.datalog.language.types import RuleTypes

MOST_VARIANTS = 64
"""maximum number of variants of a flaw; in a variant, each later literal either holds or is also flawed"""
_COMPLEMENTS = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@frozen
class Flaw:
    """A way in which a computation may have no value. `parts`: the literals that all hold in this case. `needed`: the
    variables in `parts` that get their values from other literals. `nothing_in`: an aggregate that must be empty in
    this case, whatever the unknown values are."""

    parts: tuple[Literal, ...]
    needed: frozenset[str]
    told: tuple[tuple[str, Term], ...] = ()
    """(name, term) of each value that the message names"""
    nothing_in: Aggregate | None = None


@frozen
class Broken:
    """A rule for `broken`. `kept`: the literals that hold. `flaws`: the flaws; the first one is reported. `text`: the
    text of the literal without a value. `bound`: the variables that have values."""

    kept: tuple[Literal, ...]
    flaws: tuple[Flaw, ...]
    text: str
    bound: frozenset[str]


class Flaws:
    """Finds the flaws that the literals of a rule may have, and converts them to rules for `broken`."""

    def __init__(self, rule: Rule, predicates: Mapping[str, Predicate], is_verdict: bool) -> None:
        self.rule = rule
        self.types = RuleTypes(rule.head, rule.body, predicates, rule.span)
        self.outer = outer_names(rule.head, rule.body)
        self.numbers = count(1)
        self.is_verdict = is_verdict
        self.chosen = set() if is_verdict else _of_all_paths(rule)

    def broken(self) -> Iterator[Broken]:
        """The rules for `broken`. In each of them, each literal after the flawed literal either holds or is flawed,
        too."""
        body = self.rule.body
        flaws = [list(self._of(literal, self._narrowed(body))) for literal in body]
        for i, literal in enumerate(body):
            for flaw in flaws[i]:
                for chosen in self._ways(body, flaws, i):
                    kept = [x for x in chosen if not isinstance(x, Flaw)]
                    more = [x for x in chosen if isinstance(x, Flaw)]
                    made = self._variant(kept, flaw, more, str(literal))
                    if made is not None:
                        yield made
        for argument in self.rule.head.arguments:
            for flaw in self._of_term(argument, self._narrowed(body)):
                made = self._variant(list(body), flaw, [], str(argument))
                if made is not None:
                    yield made

    def _ways(self, body: tuple[Literal, ...], flaws: list[list[Flaw]], i: int) -> Iterator[tuple[Literal | Flaw, ...]]:
        """The possible conditions apart from the flaw of literal `i`: earlier literals hold, and later literals hold or
        are flawed, too."""
        named: dict[str, Term] = {}
        others: list[list[tuple[Literal | Flaw, ...]]] = []
        for j, literal in enumerate(body):
            if j == i:
                continue
            target = self._computed(literal) if j > i and flaws[j] else None
            if target is not None:
                named[target[0]] = target[1]  # replaces the variable, which may have no value
            elif j > i and self._is_asked(literal) and (flaws[j] or names(literal) & named.keys()):
                assert isinstance(literal, Comparison | Test)
                others.append([self._not_false(replaced(literal, lambda v: _computed_from(v, named)))])
            else:
                others.append([(x,) for x in ((literal, *flaws[j]) if j > i else (literal,))])
        count = 1
        for options in others:
            count *= len(options)
        # if there are too many variants, all other literals that may have no value are omitted, so that `broken` holds
        # too often rather than too rarely
        if count > MOST_VARIANTS:
            others = [options for options in others if len(options) == 1]
        for chosen in product(*others):
            yield tuple(part for parts in chosen for part in parts)

    def _is_asked(self, literal: Literal) -> bool:
        """Whether a literal only compares or tests values, and does not determine the value of a variable."""
        if isinstance(literal, Test):
            return True
        given = bound_names(tuple(x for x in self.rule.body if not isinstance(x, Comparison)), set(), self.outer)
        return isinstance(literal, Comparison) and (
            literal.operator != "="
            or not any(isinstance(t, RuleVariable) and t.name not in given for t in literal.children())
        )

    def _computed(self, literal: Literal) -> tuple[str, Term] | None:
        """(variable, term) of an equation `variable = term` whose variable only comparisons and tests read; it occurs
        in no atom, negation or aggregate of the body, and in no argument of the head that identifies a finding. None
        for other literals."""
        if not isinstance(literal, Comparison) or literal.operator != "=":
            return None
        about = self.rule.head.arguments[: 2 if self.is_verdict else 1]
        elsewhere = names(*about, *(x for x in self.rule.body if not isinstance(x, Comparison | Test)))
        for target, term in literal.sides:
            if isinstance(target, RuleVariable) and target.name not in elsewhere and target.name not in names(term):
                return target.name, term
        return None

    def _not_false(self, literal: Comparison | Test) -> tuple[Literal, ...]:
        """The condition that a test holds or has no value."""
        false: list[Literal] = []
        if isinstance(literal, Comparison):
            false.append(compared(literal.left, _COMPLEMENTS[literal.operator], literal.right))
        else:
            false.append(holds(literal.function, *literal.arguments, negated=not literal.negated))
            for argument, (_, kind) in zip(literal.arguments, TESTS[literal.function].inputs, strict=True):
                if kind in KINDS and not isinstance(argument, Constant):
                    false.append(holds(KINDS[kind], argument))
        name = f"False{next(self.numbers)}"
        return count_of(name, false), compared(variable(name), "=", constant(0))

    def _variant(self, kept: list[Literal], flaw: Flaw, more: list[Flaw], text: str) -> Broken | None:
        """The rule for `broken` without the literals that cannot be evaluated, because the flawed literal does not
        determine variables; None if the flaw itself cannot be evaluated."""
        given = names(*(x for x in kept if isinstance(x, Atom)))
        while True:
            bound = bound_names(tuple(kept), given, self.outer)
            left = [x for x in kept if needed_names(x, self.outer) <= bound]
            if len(left) == len(kept):
                break
            kept = left
        if not flaw.needed <= bound:
            return None
        flaws = (flaw, *(f for f in more if f.needed <= bound))
        return Broken(tuple(kept), flaws, text, frozenset(bound))

    # -------- flaws

    def _narrowed(self, body: tuple[Literal, ...]) -> dict[str, str]:
        """{variable: type} for the variables whose type tests in the body determine."""
        types = {}
        for literal in body:
            if isinstance(literal, Test) and not literal.negated and literal.function in ("is_number", "is_symbol"):
                (argument,) = literal.arguments
                if isinstance(argument, RuleVariable):
                    types[argument.name] = "number" if literal.function == "is_number" else "symbol"
        return types

    def _base(self, term: Term, narrowed: dict[str, str]) -> str:
        if isinstance(term, RuleVariable) and term.name in narrowed:
            return narrowed[term.name]
        kind = self.types.of(term)
        return kind.base if kind is not None else "any"

    def _of(self, literal: Literal, narrowed: dict[str, str]) -> Iterator[Flaw]:
        if isinstance(literal, Comparison):
            for term in literal.children():
                yield from self._of_term(term, narrowed)
            bases = {self._base(literal.left, narrowed), self._base(literal.right, narrowed)}
            if literal.operator not in ("=", "!=") and (len(bases) > 1 or "any" in bases):
                before, (left, right) = self._plain((literal.left, literal.right))
                if not names(literal) & self.chosen:
                    yield _flaw(names(literal), *before, holds("incomparable", left, right))
        elif isinstance(literal, Test):
            for argument in literal.arguments if literal.function != "undefined" else ():
                yield from self._of_term(argument, narrowed)
            yield from self._of_kinds(TESTS[literal.function], literal.arguments)
        elif isinstance(literal, Builtin):
            yield from self._of_relation(literal, narrowed)
        elif isinstance(literal, Aggregate):
            yield from self._of_aggregate(literal, narrowed)

    def _of_kinds(self, builtin: Entry, arguments: tuple[Term, ...]) -> Iterator[Flaw]:
        """The flaws that a string is not of the kind that a test requires."""
        needed = names(*arguments)
        for argument, (_, kind) in zip(arguments, builtin.inputs, strict=True):
            if kind in KINDS and not isinstance(argument, Constant):
                before, (plain,) = self._plain((argument,))
                yield _flaw(needed, *before, holds(KINDS[kind], plain, negated=True))

    def _of_relation(self, literal: Builtin, narrowed: dict[str, str]) -> Iterator[Flaw]:
        """The flaws of a built-in relation: an argument has no value, or is invalid, so that the relation has no
        rows."""
        for argument in literal.inputs:
            yield from self._of_term(argument, narrowed)
        if literal.relation == MEMBER:
            for argument in literal.outputs:
                yield from self._of_term(argument, narrowed)
        else:  # arguments may be invalid even if they are constants: range(1, 1000000000) has too many rows
            before, plain = self._plain(literal.inputs)
            yield _flaw(names(*literal.inputs), *before, holds("undefined", call(literal.relation, *plain)))

    def _of_term(self, term: Term, narrowed: dict[str, str]) -> Iterator[Flaw]:
        if not isinstance(term, RuleCall):
            return
        for argument in term.arguments:
            yield from self._of_term(argument, narrowed)
        function = FUNCTIONS[term.function]
        wanted = function.parameters
        unsure = [
            (argument, base)
            for argument, base in zip(term.arguments, wanted, strict=True)
            if base != "any" and self._base(argument, narrowed) == "any"
        ]
        before, arguments = self._plain(term.arguments)
        if function.seeks:
            for argument, base in unsure:
                inner, (plain,) = self._plain((argument,))
                yield _flaw(names(term), *inner, holds(f"is_{base}", plain, negated=True))
        elif unsure or function.may_fail:
            yield _flaw(names(term), *before, holds("undefined", call(term.function, *arguments)))

    def _plain(self, terms: tuple[Term, ...]) -> tuple[list[Literal], tuple[Term, ...]]:
        """(literals that assign computed values to new variables, terms with these variables instead of
        computations)."""
        before: list[Literal] = []
        plain: list[Term] = []
        for term in terms:
            if isinstance(term, RuleCall):
                inner = variable(f"Inner{next(self.numbers)}")
                before.append(compared(inner, "=", term))
                plain.append(inner)
            else:
                plain.append(term)
        return before, tuple(plain)

    def _of_aggregate(self, literal: Aggregate, narrowed: dict[str, str]) -> Iterator[Flaw]:
        """The flaws of an aggregate: a literal in its braces is flawed, a value cannot be added or compared, or the set
        is empty."""
        needed = inner_names(literal) & self.outer
        inner = {n: f"{n}_{next(self.numbers)}" for n in sorted(names(literal) - self.outer)}
        body = tuple(renamed(x, inner) for x in literal.body)
        known = {inner.get(n, n): kind for n, kind in {**narrowed, **self._narrowed(literal.body)}.items()}
        types, self.types = self.types, RuleTypes(None, body, self.types.predicates, self.rule.span)
        try:
            for i, part in enumerate(body):
                for flaw in self._of(part, known):
                    others = [x for x in body[:i] + body[i + 1 :] if self._stands(x, body, part)]
                    yield self._within(needed, others, flaw, inner)
            if literal.expression is None:
                return
            term = renamed(literal.expression, inner)
            for flaw in self._of_term(term, known):
                yield self._within(needed, body, flaw, inner)
            before, (plain,) = self._plain((term,))
            base = self._base(term, known)
            terms = ((str(literal.expression), plain),)
            is_number, is_symbol = (holds(name, plain) for name in ("is_number", "is_symbol"))
            no_number, no_symbol = (holds(name, plain, negated=True) for name in ("is_number", "is_symbol"))
            if base == "any" and literal.function == "sum":
                yield Flaw((*body, *before, no_number), frozenset(needed), terms)
            elif base == "any":
                yield Flaw((*body, *before, no_number, no_symbol), frozenset(needed), terms)
                mixed: list[Literal] = []
                for kind in (is_number, is_symbol):
                    name = f"Kinds{next(self.numbers)}"
                    mixed += [count_of(name, (*body, *before, kind)), compared(variable(name), ">", constant(0))]
                yield _flaw(needed, *mixed)
            reads = {read.predicate for read, _ in atoms(literal.body)}
            if literal.function != "sum" and self.is_verdict and reads & (VALUES | AT_PATHS):
                name = f"Rows{next(self.numbers)}"
                empty = _flaw(needed, count_of(name, body), compared(variable(name), "=", constant(0)))
                yield evolve(empty, nothing_in=literal)
        finally:
            self.types = types

    @staticmethod
    def _within(needed: set[str], others: Sequence[Literal], flaw: Flaw, inner: dict[str, str]) -> Flaw:
        """Convert the flaw (see Flaw) of a literal in an aggregate's braces to a flaw of the aggregate. `inner`:
        {variable in the braces: its new name}."""
        plain = {new: old for old, new in inner.items()}
        terms = tuple((plain.get(name, name), term) for name, term in flaw.told)
        return Flaw((*others, *flaw.parts), frozenset(needed), terms)

    def _stands(self, literal: Literal, body: tuple[Literal, ...], flawed: Literal) -> bool:
        """Whether a literal in braces can be evaluated without the flawed literal."""
        rest = tuple(x for x in body if x is not flawed)
        given = names(*(x for x in rest if isinstance(x, Atom)))
        return names(literal) <= bound_names(rest, given | self.outer, self.outer)


def _computed_from(variable: RuleVariable, terms: Mapping[str, Term]) -> Term:
    """The term by which a variable is replaced. The variables in this term are replaced, too. If there is no term, the
    result is the variable itself."""
    term = terms.get(variable.name)
    return variable if term is None else replaced(term, lambda inner: _computed_from(inner, terms))


def _flaw(needed: set[str], *parts: Literal) -> Flaw:
    return Flaw(parts, frozenset(needed), tuple((name, variable(name)) for name in sorted(needed)))


def _of_all_paths(rule: Rule) -> set[str]:
    """The variables with values at those paths of an object of which the rule determines at most the beginning."""
    path_of: dict[str, str] = {}
    seen: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.predicate in AT_PATHS:
            path, value = literal.arguments[-2:]
            if isinstance(path, RuleVariable) and isinstance(value, RuleVariable):
                seen |= {path.name} & set(path_of.values())
                path_of[value.name] = path.name
                continue
        if not (isinstance(literal, Test) and literal.function == "starts_with"):
            seen |= names(literal)
    return {value for value, path in path_of.items() if path not in seen}


def broken_rules(
    rule: Rule, predicates: Mapping[str, Predicate], sure: Callable[[Literal], Iterator[Literal]], is_verdict: bool
) -> Iterator[tuple[str, tuple[Term, ...], list[Literal]]]:
    """(reason, arguments of the head, body) of each rule for `broken` that belongs to a rule. `sure`: returns the
    literals that certainly hold only if a literal certainly holds."""
    seen = set()
    nothing = constant("")
    for broken in Flaws(rule, predicates, is_verdict).broken():
        head = rule.head.arguments
        code: Term = constant(rule.head.predicate)
        if is_verdict:
            code = head[0] if names(head[0]) <= broken.bound else nothing
            address = head[1] if names(head[1]) <= broken.bound else nothing
        else:
            is_about = head and isinstance(head[0], RuleVariable) and names(head[0]) <= broken.bound
            address = head[0] if is_about else nothing
        values: list[Term] = []
        for name, term in broken.flaws[0].told:
            values += [constant(f"{' and' if values else ''} {name} is "), _short(term)]
        message = constant(f"cannot be decided: {broken.text} has no value{' where' if values else ''}")
        body = [part for literal in broken.kept for part in sure(literal)]
        body += [part for flaw in broken.flaws for part in flaw.parts]
        body += [part for flaw in broken.flaws if flaw.nothing_in for part in [*sure(flaw.nothing_in)][1:]]
        key = (str(code), str(address), tuple(map(str, body)))
        if key not in seen:
            seen.add(key)
            reason = broken.text.replace("{", "(").replace("}", ")")  # braces in a reason would contain variables
            yield f"{reason} has no value", (code, address, concatenation(message, *values)), body


def _short(term: Term) -> Term:
    return call("substring", call("to_symbol", term), constant(0), constant(60))
