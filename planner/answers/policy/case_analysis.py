"""Case analysis of undecided verdicts: decides whether a verdict holds for all possible values of the unknown values,
or for none of them.

The rules are evaluated as they are written, backwards from one verdict, with symbols for unknown values (symbols.py).
Where the result depends on a symbol, both cases are evaluated: the value exists or does not exist, or a test of the
value holds or does not hold. A verdict that holds in all cases is certain, a verdict that holds in no case is excluded,
and any other verdict is undecided. Each possible combination of values belongs to a case, and the rules have one result
for all combinations in a case. So the conclusion is correct even if some cases are impossible. Verdicts remain
undecided if they need unsupported features (recursion through unknown values, aggregates over an unknown number of
elements) or too many steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from planner.answers.policy.model import ALL_STEPS
from planner.answers.policy.partly_known_json import KnownDocument, known_document
from planner.answers.policy.planned_values import AT_PATHS, REACHED, THROUGH, VALUES, root_of
from planner.answers.policy.program import Policies
from planner.answers.policy.string_prefixes import known_parts
from planner.answers.policy.symbols import NeedsDecision, Proposition, Symbol, SymbolCase, symbols_in, type_of
from planner.answers.policy.three_valued import LOST, dependent, links
from planner.foundation.values.types import DYNAMIC, Primitive
from planner.foundation.values.value import Unknown
from planner.language.syntax.rule_syntax import (
    MEMBER,
    Aggregate,
    Atom,
    Builtin,
    Constant,
    Literal,
    RuleVariable,
    Term,
    Wildcard,
)
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Interpreter, Way
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language.builtins import RELATIONS
from planner.logic.datalog.language.constructed import anything, atom, variable
from planner.logic.datalog.language.model import Rule, name_of, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import encode, member, sort_key

Values: TypeAlias = dict[str, Any]
Look: TypeAlias = tuple[Literal, Values]
"""a literal and the values of its variables"""
Unknowns: TypeAlias = Mapping[tuple[str, str], Unknown]
MOST_CASES = 200
"""maximum number of cases for one verdict"""
MOST_STEPS = 20_000
"""maximum number of evaluation steps for one verdict"""
MOST_COMPARED = 60
"""maximum number of rows with which an unknown value is compared"""
FEW = 4
"""maximum number of objects with unknown values for which each combination of cases is tried in a count or sum"""
MOST_OF_ONE = 32
"""maximum number of cases of one object in a count or sum"""
_DEEPEST = 40
_KEYS = {"json": 1, "yaml": 1, "split": 1, "captures": 1, "find_all": 1, "json_element": 2, "yaml_element": 2}
"""number of leading outputs of a built-in relation that determine its other outputs"""


def _may_be(known: Any, value: Any) -> bool:
    return isinstance(value, Symbol) or known == value


class Inconclusive(Exception):
    """The case analysis cannot decide a verdict: it does not support a construct, or needs too many steps."""


class Cases:
    """Decides verdicts about one plan. `database`: the rows that certainly hold. `unknown`: {(address, path): unknown
    value}."""

    def __init__(self, policies: Policies, database: Database, unknown: Unknowns) -> None:
        self.program, self.database, self.unknown = policies.program, database, dict(unknown)
        self.relations = Relations(database)
        self.dependent = dependent(policies.program)
        self.links = links(policies.program)
        self.recursive = {name for s in policies.program.strata if s.is_recursive for name in s.predicates}
        self.at: dict[str, list[tuple[str, str]]] = {}
        self.rooted: dict[str, list[tuple[str, str]]] = {}
        self.everywhere = sorted(self.unknown)
        # an object without any known attributes has no cases
        self.is_shapeless = any(not path for _, path in self.unknown)
        for place in self.everywhere:
            self.at.setdefault(place[0], []).append(place)
            self.rooted.setdefault(root_of(place[1]), []).append(place)
        # sets with unknown elements have an unknown size
        self.sets = {place for place in database.facts.relation("maybe_open") if place not in self.unknown}
        self.documents = {
            place: known_document(value.document) for place, value in self.unknown.items() if value.document is not None
        }
        # known properties of unknown values, including unknown values within JSON strings
        self.told: dict[tuple[str, Any], Unknown] = dict(self.unknown)
        for (address, path), document in self.documents.items():
            self.told.update({(address, (path, inner)): part for inner, part in document.unknown.items()})
        self.steps = ALL_STEPS
        self.messages: dict[tuple[str, Any, Any], frozenset[str]] = {}
        """{verdict: its messages in all cases} for verdicts that hold in all cases"""
        self._orders: dict[tuple[int, tuple[str, ...]], tuple[list[Literal], set[str]]] = {}
        self.inner_orders: dict[tuple[int, frozenset[str]], list[Literal]] = {}
        self._saying: dict[tuple[str, Any], list[Rule]] = {}

    @property
    def taken(self) -> int:
        return ALL_STEPS - self.steps

    def decide(self, verdict: str, code: Any, address: Any) -> bool | None:
        """Whether a verdict holds: True if it holds in all cases, False if it holds in no case, None if the cases
        differ or the analysis cannot decide (for example, after too many steps)."""
        if LOST in (code, address) or self.steps <= 0 or self.is_shapeless:
            return None
        begun = self.steps
        waiting: list[dict[Proposition, bool]] = [{}]
        seen: set[bool] = set()
        common: frozenset[str] | None = None
        is_flawed = False
        for _ in range(MOST_CASES):
            if not waiting or len(seen) > 1:
                break
            decisions = waiting.pop()
            evaluation = _CaseEvaluation(self, decisions, begun - MOST_STEPS)
            try:
                seen.add(evaluation.derives(verdict, code, address))
                is_flawed |= evaluation.case.is_flawed
                if seen == {True} and common != frozenset():
                    messages = evaluation.messages(verdict, code, address)
                    common = messages if common is None else common & messages
            except NeedsDecision as needed:
                waiting += [{**decisions, needed.proposition: holds} for holds in (True, False)]
            except (Inconclusive, RecursionError):
                return None
        if len(seen) != 1 or waiting or (is_flawed and seen == {False}):
            return None  # findings that may be broken remain undecided
        self.messages[verdict, code, address] = common or frozenset()
        return seen.pop()

    def saying(self, verdict: str, code: Any) -> list[Rule]:
        """The rules that may derive the verdict with this code."""
        result = self._saying.get((verdict, code))
        if result is None:
            heads = ((rule, rule.head.arguments[0]) for rule in self.program.rules_for(verdict))
            result = [rule for rule, own in heads if not isinstance(own, Constant) or _may_be(encode(own.value), code)]
            self._saying[verdict, code] = result
        return result

    def order_of(self, rule: Rule, start: Values) -> tuple[list[Literal], set[str]]:
        key = (rule.number, tuple(sorted(start)))
        if key not in self._orders:
            outer = outer_names(rule.head, rule.body)
            self._orders[key] = (join_order(rule.body, start, outer), outer)
        return self._orders[key]


_THROUGH = atom(THROUGH, variable("A"), anything(), variable("G"))
_REACHED = atom(REACHED, variable("G"), variable("B"))
ANY = object()
"""placeholder for an unused value"""


class _CaseEvaluation(Interpreter):
    """The evaluation of rules in one case. `rule`: the rule that is being evaluated. The methods raise NeedsDecision if
    the case must be divided, and Inconclusive."""

    rule: Rule

    def __init__(self, cases: Cases, decisions: dict[Proposition, bool], least: int) -> None:
        self.cases, self.least = cases, least
        self.case = SymbolCase(decisions, cases.told, cases.documents)
        self.memory: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        self.active: list[str] = []
        self.counting = 0

    def derives(self, verdict: str, code: Any, address: Any) -> bool:
        """Whether a rule derives the verdict. Raises NeedsDecision only if no rule derives the verdict without further
        decisions about unknown values."""
        needed: NeedsDecision | None = None
        for rule in self.cases.saying(verdict, code):
            try:
                for _ in self.derived_rows(rule, (code, address, ANY)):
                    return True
            except NeedsDecision as problem:
                needed = needed or problem
        if needed is not None:
            raise needed
        return False

    def messages(self, verdict: str, code: Any, address: Any) -> frozenset[str]:
        """The messages of the verdict in this case that need no further decisions."""
        items: set[str] = set()
        for rule in self.cases.saying(verdict, code):
            try:
                rows = list(self.derived_rows(rule, (code, address, None)))
            except (NeedsDecision, Inconclusive):
                continue
            items |= {row[2] for row in rows if isinstance(row[2], str)}
        return frozenset(items)

    # -------- rules

    def derived_rows(self, rule: Rule, pattern: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """The rows that a rule derives and that match `pattern` (None: any value; ANY: a value that is not used).
        Raises Inconclusive."""
        start: Values = {}
        for term, value in zip(rule.head.arguments, pattern, strict=True):
            if value is None or value is ANY:
                continue
            if isinstance(term, RuleVariable):
                if term.name in start and not self.case.equal(start[term.name], value):
                    return
                start.setdefault(term.name, value)
            elif isinstance(term, Constant) and not self.case.equal(encode(term.value), value):
                return
        self.rule = rule
        ordered, outer = self.cases.order_of(rule, start)
        for values, _ in self.solutions(ordered, start, outer):
            row: list[Any] = []
            for term, value in zip(rule.head.arguments, pattern, strict=True):
                if value is ANY:
                    row.append(ANY)
                    continue
                result = self.value(term, values)
                if result is None or (value is not None and not self.case.equal(result, value)):
                    break
                if value is None and any(symbol.is_local for symbol in symbols_in(result)):
                    raise Inconclusive
                row.append(result if value is None else value)
            else:
                yield tuple(row)

    def extensions(self, literal: Literal, assignment: Values, outer: set[str]) -> Iterator[Way]:
        self.step()
        return super().extensions(literal, assignment, outer)

    def step(self) -> None:
        """Count an evaluation step. Raises Inconclusive after too many steps."""
        self.cases.steps -= 1
        if self.cases.steps < self.least:
            raise Inconclusive

    # -------- values

    def value(self, term: Term, assignment: Values) -> Any:
        if isinstance(term, RuleVariable):
            return self.case.resolved(assignment.get(term.name))
        return super().value(term, assignment)

    def equal(self, one: Any, other: Any) -> bool:
        return self.case.equal(one, other)

    def compared(self, operator: str, left: Any, right: Any) -> bool:
        if operator in ("=", "!="):
            return self.case.equal(left, right) == (operator == "=")
        return self.case.ordered(operator, left, right)

    def tested(self, function: str, arguments: list[Any]) -> bool:
        is_document = function == "is_json" and self.case.document(arguments[0]) is not None
        return is_document or self.case.tested(function, arguments)

    def computed(self, function: str, arguments: list[Any]) -> Any:
        if function not in RELATIONS:
            return self.case.computed(function, arguments)
        if function in ("json", "json_element") and self.case.document(arguments[0]) is not None:
            return True
        if any(isinstance(a, Symbol) for a in arguments):
            return True if self.case.holds(("defined", function, tuple(arguments))) else None
        return super().computed(function, arguments)

    # -------- relations

    def rows(self, atom: Atom, assignment: Values) -> Iterator[tuple[Any, ...]]:
        name = atom.predicate
        if name == "planned" and (told := self.told_row(atom, assignment)) is not None:
            yield told
        elif name in VALUES:
            yield from self.known(atom, assignment)
            yield from self.unknown_rows(atom, assignment)
        elif name in self.cases.links:
            yield from self.known(atom, assignment)
            yield from self.links(name, *(self.value(a, assignment) for a in atom.arguments))
        elif name in self.cases.dependent:
            pattern = tuple(ANY if isinstance(a, Wildcard) else self.value(a, assignment) for a in atom.arguments)
            yield from self.derived(name, pattern)
        elif name in self.cases.database:
            yield from self.known(atom, assignment)
        else:
            raise Inconclusive

    def told_row(self, atom: Atom, values: Values) -> tuple[Any, ...] | None:
        """For an atom that only looks up the unknown value of a variable, the row for the place of this value. Other
        objects whose value may be equal are ignored. None for other atoms."""
        *place, term = atom.arguments
        symbol = self.case.resolved(values.get(term.name)) if isinstance(term, RuleVariable) else None
        if not isinstance(symbol, Symbol) or symbol.key[0] != "at" or len(symbol.key) != 3:
            return None
        asked = zip(place, symbol.key[1:], strict=True)
        is_told = all(isinstance(column, Wildcard) or self.value(column, values) == at for column, at in asked)
        return (*symbol.key[1:], symbol) if is_told else None

    def links(self, name: str, about: Any, other: Any) -> Iterator[tuple[Any, ...]]:
        """The pairs that are in a relation in this case only because of unknown values. Raises Inconclusive."""
        if isinstance(about, Symbol) or isinstance(other, Symbol):
            raise Inconclusive
        relations = self.cases.relations
        known = self.cases.database.facts.relation(name)
        seen: set[tuple[Any, Any]] = set()
        given = {name: value for name, value in (("A", about), ("B", other)) if value is not None}
        for _, through in relations.matching(_THROUGH, given):
            for _, item in relations.matching(_REACHED, through):
                self.step()
                row = item["A"], item["B"]
                if row in known or row in seen:
                    continue
                seen.add(row)
                if self.case.holds(("linked", name, *row)):
                    yield row

    def derived(self, name: str, pattern: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The rows of a derived relation that match `pattern` (see `derived_rows`). Raises Inconclusive."""
        key = (name, *pattern)
        result = self.memory.get(key)
        if result is None:
            if (name in self.cases.recursive and name in self.active) or len(self.active) > _DEEPEST:
                raise Inconclusive
            self.active.append(name)
            reading = self.rule
            try:
                result = list(self.cases.database.facts.relation(name))
                for rule in self.cases.program.rules_for(name):
                    result += self.derived_rows(rule, pattern)
            finally:
                self.active.pop()
                self.rule = reading
            self.memory[key] = result
        return result

    def known(self, atom: Atom, values: Values) -> Iterator[tuple[Any, ...]]:
        """The known rows that may match an atom. Raises Inconclusive."""
        unsure = {name for name, value in values.items() if isinstance(self.case.resolved(value), Symbol)}
        plain = {name: self.case.resolved(value) for name, value in values.items() if name not in unsure}
        is_compared = any(name_of(a) in unsure for a in atom.arguments)
        for number, (row, _) in enumerate(self.cases.relations.matching(atom, plain)):
            self.step()
            if is_compared and number > MOST_COMPARED:
                raise Inconclusive
            yield row

    # -------- unknown values

    def unknown_rows(self, atom: Atom, values: Values) -> Iterator[tuple[Any, ...]]:
        """The rows that an atom about values may have because of unknown values. If the atom does not name a path, one
        row represents all paths within an unknown value. Raises Inconclusive."""
        address, path = (self.value(a, values) for a in atom.arguments[:2])
        if isinstance(address, Symbol):
            raise Inconclusive
        if self.counting and any(address in (None, a) for a, _ in self.cases.sets):
            raise Inconclusive
        if atom.predicate == "size_of":
            yield from self.sizes_of_sets(address, path)
        cases = self.cases
        places: Sequence[tuple[str, str]] = cases.everywhere
        if address is not None:
            places = cases.at.get(address, ())
        elif isinstance(path, str):
            places = cases.rooted.get(root_of(path), ())
        for place in places:
            self.step()
            yield from self.at_place(atom, values, place, path)

    def sizes_of_sets(self, address: Any, path: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of `size_of` for sets with unknown elements. The size is a symbol."""
        for a, at in sorted(self.cases.sets):
            if address in (None, a) and path in (None, at):
                yield a, at, Symbol(("size", a, at), "number")

    def at_place(self, atom: Atom, values: Values, place: tuple[str, str], path: Any) -> Iterator[tuple[Any, ...]]:
        address, at = place
        unknown = self.cases.unknown[place]
        is_open = not isinstance(unknown.type, Primitive) or unknown.type is DYNAMIC
        is_exact = isinstance(unknown.type, Primitive)  # DYNAMIC is a Primitive, too
        name = atom.predicate
        if isinstance(path, Symbol):
            begin = self.case.prefix(path)
            if not (begin.startswith((f"{at}.", f"{at}[")) or (path.key[0] == "path" and path.key[1] == at)):
                if at.startswith(begin):
                    raise Inconclusive  # the value may be at this path or elsewhere
                return
            below: list[Any] = [path] if is_open else []
        elif path is None:
            below = [self.local(atom, values, place)] if is_open else []
        else:
            below = [path] if is_open and path.startswith((f"{at}.", f"{at}[")) else []
        exact = path is None or path == at
        if name in AT_PATHS:
            if exact and is_exact:
                yield from self.value_row(name, address, at, unknown)
            for inner in below:
                yield from self.value_row(name, address, inner, _element(unknown))
        elif name == "size_of":
            for inner in [*([at] if exact and is_open else []), *below]:
                if self.case.holds(("there", name, address, inner)):
                    yield address, inner, Symbol(("size", address, inner), "number", isinstance(inner, Symbol))
        elif name == "part":
            for inner in [*([at] if exact and is_open else []), *below]:
                yield from self.part_rows(atom, values, address, inner)
        else:  # the atom is about JSON in a string
            texts = [*([at] if exact and is_exact else []), *below]
            for text in texts:
                yield from self.json_rows(atom, values, address, text)

    def value_row(self, name: str, address: str, path: Any, unknown: Unknown | None) -> Iterator[tuple[Any, ...]]:
        if self.case.holds(("there", name, address, path)):
            kind = type_of(unknown) if unknown is not None else "any"
            group = ("at",) if name in ("planned", "configured") else ("at", name)
            is_local = isinstance(path, Symbol)
            key = (*group, address, path) if len(group) == 1 else (name, address, path)
            yield address, path, Symbol(key, kind, is_local)

    def local(self, atom: Atom, values: Values, place: tuple[Any, ...]) -> Symbol:
        """A symbol that represents any path below a place."""
        return Symbol(("path", place[-1], self.label(atom, values), place), "symbol", True)

    def label(self, literal: Literal, values: Values) -> tuple[Any, ...]:
        """A key that identifies a literal with these values. Raises Inconclusive in an aggregate."""
        if self.counting:
            raise Inconclusive
        return self.rule.number, literal.start, str(literal), tuple(sorted(values.items(), key=lambda item: item[0]))

    def part_rows(self, atom: Atom, values: Values, address: str, path: Any) -> Iterator[tuple[Any, ...]]:
        """The row for an element of an unknown container. The element is the requested one or, if none is requested, a
        symbol that represents any element."""
        key, inner = (self.value(a, values) for a in atom.arguments[2:])
        if key is None and isinstance(inner, str) and isinstance(path, str):
            key = _last_key(path, inner)
            if key is None:
                return
        if key is None or isinstance(path, Symbol) or isinstance(key, Symbol) or isinstance(inner, Symbol):
            label = self.label(atom, values)
            some = Symbol(("key", label, address, path), "any", True)
            place = Symbol(("path", path, label, address), "symbol", True)
            if self.case.holds(("there", "part", address, place)):
                yield address, path, some, place
            return
        result = member(path, key) if type(key) is str else f"{path}[{key}]"
        if type(key) not in (str, int):
            return
        if self.case.holds(("there", "part", address, result)):
            yield address, path, key, result

    def json_rows(self, atom: Atom, values: Values, address: str, path: Any) -> Iterator[tuple[Any, ...]]:
        """The rows for the possible content of an unknown JSON string."""
        inner, *others = (self.value(a, values) for a in atom.arguments[2:])
        name = atom.predicate
        document = self.cases.documents.get((address, path))
        if document is not None:
            look = atom, values
            rows = self.document_rows(look, document, (address, path), inner, others[0], name == "json_part")
            yield from ((address, path, *row) for row in rows)
            return
        if name == "json_value" and inner is not None and not isinstance(path, Symbol):
            if self.case.holds(("there", name, address, (path, inner))):
                is_local = any(s.is_local for s in symbols_in(inner))
                yield address, path, inner, Symbol((name, address, path, inner), "any", is_local)
            return
        if name == "json_part" and inner is not None and others[0] is not None and not isinstance(path, Symbol):
            if self.case.holds(("there", name, address, (path, inner, others[0]))):
                is_local = any(s.is_local for s in symbols_in((inner, others[0])))
                part = Symbol((name, address, path, inner, others[0]), "symbol", is_local)
                yield address, path, inner, others[0], part
            return
        label = self.label(atom, values)
        if self.case.holds(("there", name, address, (path, label))):
            given = [inner, *others]
            made = [Symbol((name, label, number), "any", True) for number in range(len(given))]
            yield address, path, *(m if g is None else g for g, m in zip(given, made, strict=True))

    # -------- built-in relations

    def generated(self, literal: Builtin, assignment: Values) -> Iterator[Way]:
        if literal.relation == MEMBER:
            return self.member(literal, assignment)
        return super().generated(literal, assignment)

    def related(self, literal: Builtin, inputs: list[Any], assignment: Values) -> Iterable[tuple[Any, ...]] | None:
        if not any(isinstance(value, Symbol) for value in inputs):
            return super().related(literal, inputs, assignment)
        given = tuple(inputs)
        document = self.case.document(inputs[0]) if literal.relation in ("json", "json_element") else None
        if document is not None:
            inner, key, *_ = (self.value(a, assignment) for a in literal.outputs)
            look = literal, assignment
            return self.document_rows(look, document, inputs[0].key[1:3], inner, key, len(literal.outputs) == 3)
        if self.case.holds(("defined", literal.relation, given)):
            return self.symbolic_rows(literal, given, assignment)
        self.case.is_flawed = True
        return None

    def document_rows(
        self, look: Look, document: KnownDocument, place: tuple[str, str], inner: Any, key: Any, of_parts: bool
    ) -> Iterator[tuple[Any, ...]]:
        """The content of a JSON string, with symbols for the unknown parts. The rows are (path, value) or, if
        `of_parts`, (path, key, part). `inner` (a path) and `key` restrict the rows."""
        address, path = place
        is_asked = isinstance(inner, str)
        if of_parts:
            for at in [inner] if is_asked else document.elements:
                for name, part in document.elements.get(at, ()):
                    self.step()
                    yield at, name, part
        else:
            for at in [inner] if is_asked else document.values:
                self.step()
                if at in document.values:
                    yield at, document.values[at]
            for at in [inner] if is_asked else document.unknown:
                unknown = document.unknown.get(at)
                if unknown is not None and isinstance(unknown.type, Primitive):
                    for _, _, symbol in self.value_row("planned", address, (path, at), unknown):
                        yield at, symbol
        if not document.may_have(inner) or (is_asked and not of_parts and inner in {*document.unknown, *document.open}):
            return
        if is_asked and not of_parts:
            if self.case.holds(("there", "json_value", address, (path, inner))):
                yield inner, Symbol(("json_value", address, path, inner))
            return
        if is_asked and type(key) in (str, int):
            if self.case.holds(("there", "json_part", address, (path, inner, key))):
                yield inner, key, member(inner, key) if type(key) is str else f"{inner}[{key}]"
            return
        label = self.label(*look)
        for at in [inner] if is_asked else document.open:
            if not self.case.holds(("rows", "json", place, (label, at, of_parts))):
                continue
            below = Symbol(("path", at, label, place), "symbol", True)
            some = Symbol(("json", place, label, at), "any", True)
            if not of_parts:
                yield below, some
                continue
            yield at, some, below
            if not is_asked:
                deeper = Symbol(("path", at, label, place, "part"), "symbol", True)
                yield below, Symbol(("json", place, label, at, "part"), "any", True), deeper

    def symbolic_rows(self, literal: Builtin, inputs: tuple[Any, ...], values: Values) -> Iterator[tuple[Any, ...]]:
        """The rows of a built-in relation with unknown inputs. For `split`, the parts that are known come first. Then
        follows the requested row or, if no row is requested, a row of symbols that represents any row."""
        name = literal.relation
        outputs = [self.value(a, values) for a in literal.outputs]
        columns = RELATIONS[name].outputs
        keys = _KEYS.get(name, len(columns))
        if name == "split" and (parts := known_parts(self.case.prefix(inputs[0]), inputs[1])[:-1]):
            yield from enumerate(parts)
            if type(outputs[0]) is int and outputs[0] < len(parts):
                return
        kinds = [kind if kind in ("symbol", "number") else "any" for _, kind in columns]
        if None not in outputs[:keys]:
            asked = tuple(outputs[:keys])
            is_local = any(s.is_local for s in symbols_in((inputs, asked)))
            if self.case.holds(("rows", name, inputs, asked)):
                rest = range(keys, len(columns))
                yield *asked, *(Symbol((name, inputs, asked, n), kinds[n], is_local) for n in rest)
            return
        label = self.label(literal, values)
        if self.case.holds(("rows", name, inputs, label)):
            yield tuple(Symbol((name, inputs, label, n), kind, True) for n, kind in enumerate(kinds))

    def member(self, literal: Builtin, values: Values) -> Iterator[Way]:
        listed = [self.value(a, values) for a in literal.inputs]
        (subject,) = literal.outputs
        known = self.value(subject, values)
        if None in listed:
            return
        if known is None:
            if isinstance(subject, RuleVariable) and subject.name not in values:
                if any(isinstance(value, Symbol) for value in listed) and self.counting:
                    raise Inconclusive
                for value in dict.fromkeys(listed):
                    yield None, {**values, subject.name: value}
        elif any(self.case.equal(known, value) for value in listed) != literal.negated:
            yield None, values

    # -------- aggregates

    def inner_order(self, literal: Aggregate, bound: Iterable[str], scope: set[str]) -> list[Literal]:
        orders, key = self.cases.inner_orders, (id(literal), frozenset(bound))
        if key not in orders:
            orders[key] = super().inner_order(literal, bound, scope)
        return orders[key]

    def aggregate_of(self, literal: Aggregate, ordered: list[Literal], fixed: Values, scope: set[str]) -> Any:
        apart = self.apart(literal, ordered, fixed, scope)
        if apart is not None:
            return apart
        self.counting += 1
        try:
            return super().aggregate_of(literal, ordered, fixed, scope)
        finally:
            self.counting -= 1

    def aggregated(self, function: str, values: list[Any]) -> Any:
        if not any(isinstance(value, Symbol) for value in values):
            known = super().aggregated(function, values)
            self.case.is_flawed |= known is None
            return known
        shown = tuple(sorted(values, key=str))
        if not self.case.holds(("defined", function, shown)):
            self.case.is_flawed = True
            return None
        kinds = {self.case.kind(value) for value in shown}
        kind = "number" if function == "sum" else kinds.pop() if len(kinds) == 1 else "any"
        return Symbol(("call", function, *shown), kind)

    def apart(self, literal: Aggregate, ordered: list[Literal], fixed: Values, scope: set[str]) -> Any:
        """The result of a count or sum over more than FEW objects with unknown values: a number, or a symbol with
        bounds. The bounds are computed for each object separately and added. None for other aggregates, which are
        decided by cases."""
        first = ordered[0]
        if literal.function not in ("count", "sum") or not isinstance(first, Atom) or first.predicate not in VALUES:
            return None
        whose = first.arguments[0]
        if not isinstance(whose, RuleVariable) or whose.name in fixed:
            return None
        unsure = self.cases.at.keys()
        if len(unsure) <= FEW:
            return None
        known = {row[0] for row in self.cases.database[first.predicate]}
        least: Any = 0
        most: Any = 0
        for address in sorted({*known, *unsure}):
            low, high = self.share(literal, ordered, {**fixed, whose.name: address}, scope)
            least = None if least is None or low is None else least + low
            most = None if most is None or high is None else most + high
        if least is not None and least == most:
            return least
        symbol = Symbol((literal.function, self.rule.number, literal.start, tuple(sorted(fixed.items()))), "number")
        self.case.ranges[symbol] = (
            (least, True) if least is not None else None,
            (most, True) if most is not None else None,
        )
        return symbol

    def share(self, literal: Aggregate, ordered: list[Literal], values: Values, scope: set[str]) -> tuple[Any, Any]:
        """(minimum, maximum) of the contribution of one object to a count or sum. Each is None if there is no bound.
        Raises Inconclusive."""
        waiting = [self.case.decisions]
        lows: list[Any] = []
        highs: list[Any] = []
        for _ in range(MOST_OF_ONE):
            if not waiting:
                break
            one = _CaseEvaluation(self.cases, waiting.pop(), self.least)
            one.rule, one.counting = self.rule, 1
            try:
                result = one.distinct(each for each, _ in one.solutions(ordered, values, scope))
                self.case.is_flawed |= one.case.is_flawed
                low, high = one.total(literal, result)
                lows.append(low)
                highs.append(high)
            except NeedsDecision as needed:
                waiting += [{**one.case.decisions, needed.proposition: holds} for holds in (True, False)]
        if waiting or not lows:
            raise Inconclusive
        return None if None in lows else min(lows), None if None in highs else max(highs)

    def total(self, literal: Aggregate, values: list[Values]) -> tuple[Any, Any]:
        """(minimum, maximum) of a count or sum. Each is None if there is no bound. Raises Inconclusive."""
        if literal.expression is None:
            return len(values), len(values)
        low: Any = 0
        high: Any = 0
        for each in values:
            value = self.value(literal.expression, each)
            if value is None:
                continue
            if self.case.kind(value) != "number":
                raise Inconclusive
            lower, upper = self.case.bounds_of(value)
            low = None if low is None or lower is None else low + lower[0]
            high = None if high is None or upper is None else high + upper[0]
        return low, high

    def distinct(self, assignments: Iterable[Values]) -> list[Values]:
        """The distinct solutions. If equality of two solutions depends on unknown values, the case decides it. Raises
        Inconclusive."""
        kept: list[Values] = []
        by_plain: dict[Any, list[Values]] = {}
        for each in list(assignments):
            resolved = {name: self.case.resolved(value) for name, value in each.items()}
            plain = tuple(
                (name, sort_key((value,))) for name, value in sorted(resolved.items()) if not isinstance(value, Symbol)
            )
            same = by_plain.setdefault(plain, [])
            if len(same) > 20:
                raise Inconclusive
            if any(all(self.case.equal(v, other[n]) for n, v in resolved.items()) for other in same):
                continue
            same.append(resolved)
            kept.append(resolved)
        return kept


def _element(unknown: Unknown) -> Unknown | None:
    """An unknown element of an unknown list, set or map, if the type of the elements is primitive; otherwise None."""
    kind = getattr(unknown.type, "element", None)
    return Unknown(kind) if isinstance(kind, Primitive) else None


def _last_key(path: str, inner: str) -> Any:
    """The key of the element with the path `inner` in the container with the path `path`; None if `inner` is not the
    path of an element of this container."""
    rest = inner.removeprefix(path)
    if rest == inner and path:
        return None
    if rest.startswith("[") and rest.endswith("]") and rest[1:-1].isdigit():
        return int(rest[1:-1])
    name = rest.removeprefix(".") if rest.startswith(".") or not path else None
    return name if name and not any(c in name for c in '.["') else None
