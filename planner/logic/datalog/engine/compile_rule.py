"""Compiles rules to Python: each rule becomes a function of nested loops.

    edge(A, B) :- reference(A, B, _), not pruned(A), A != B.

becomes the following code, with numbers for predicates, variables and indexes. The code contains no text of a rule file
except constants, which are written by `repr`.

    def f3(R, I, D, O):
        r1 = R[1]
        r2 = R[2]
        for (v0, v1, _) in r1:
            if (v0,) not in r2:
                if v0 != v1:
                    O[(v0, v1)] = None
        return O

The function adds rows to `O` and returns `O`. If a rule only selects rows of one relation, its function returns the
selected rows or, if it selects all rows, the relation itself."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.program import CompiledIndex, builtin_name
from planner.logic.datalog.language.builtins import FUNCTION_MODULE, FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.builtins import BuiltinPredicate as Entry
from planner.logic.datalog.language.checks import assigned
from planner.logic.datalog.language.model import Predicate, Rule, inner_names, outer_names, without_wildcards
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.types import RuleTypes

_COMPARISONS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ORDERS = {"<": "less", "<=": "less_or_equal", ">": "greater", ">=": "greater_or_equal"}
_DEEPEST = 15
"""maximum depth of nested statements; Python allows 20 nested blocks, but any number of clauses in a comprehension"""


class Loop(NamedTuple):
    """A loop over rows, such as `for (v0, v1) in r1`. `is_scan`: whether the loop visits all rows of a relation, and
    not only the rows of a key in an index or the rows of the last round."""

    target: str
    source: str
    is_scan: bool = False

    def __str__(self) -> str:
        return f"for {self.target} in {self.source}"


class Check(NamedTuple):
    """A condition, such as `if (v0,) not in r2`. `passed_by`: the relation that the condition reads, if the condition
    is always true when this relation is empty; otherwise ""."""

    condition: str
    passed_by: str = ""

    def __str__(self) -> str:
        return f"if {self.condition}"


class Let(NamedTuple):
    """An assignment, such as `v2 = v0 + v1`. In a comprehension, it is written as a loop over one value."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"for {self.name} in ({self.value},)"


Clause: TypeAlias = Loop | Check | Let  # the code for a literal: a step of nested loops, or of a comprehension


def tuple_code(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def key_code(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


class Indexes:
    """The indexes of a program, numbered in the order of first use."""

    def __init__(self) -> None:
        self.numbers: dict[CompiledIndex, int] = {}

    def number(self, index: CompiledIndex) -> int:
        return self.numbers.setdefault(index, len(self.numbers))


class BodyCompiler:
    """Compiles one rule."""

    def __init__(self, rule: Rule, predicates: Mapping[str, Predicate], indexes: Indexes) -> None:
        self.rule, self.predicates, self.indexes = rule, predicates, indexes
        self.outer = outer_names(rule.head, rule.body)
        self.types = RuleTypes(rule.head, rule.body, predicates, rule.span)
        self.names: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self.used = 0
        # expression -> local variable to which the function assigns it at its beginning
        self.prelude: dict[str, str] = {}
        self.needs: set[int] = set()
        self.uses: set[tuple[str, str]] = set()

    def fresh(self) -> str:
        self.used += 1
        return f"v{self.used - 1}"

    def function(self, builtin: Entry) -> str:
        """The name of a built-in function in generated code."""
        if builtin.module == FUNCTION_MODULE:
            return builtin.attribute
        self.uses.add((builtin.module, builtin.attribute))
        return builtin_name(builtin.module, builtin.attribute)

    # -------- values

    def term(self, term: syntax.Term, clauses: list[Clause]) -> str:
        """The code of a term. The conditions under which the term has a value are appended to `clauses`."""
        if isinstance(term, syntax.RuleVariable):
            return self.names[term.name]
        if isinstance(term, syntax.Constant):
            return constant_code(term.value)
        assert isinstance(term, syntax.RuleCall)
        arguments = [self.term(a, clauses) for a in term.arguments]
        bases = [self.base(a) for a in term.arguments]
        inline = self._inline(term, arguments, bases)
        if inline is not None:
            return inline
        function = FUNCTIONS[term.function]
        call = f"{self.function(function)}({', '.join(arguments)})"
        wanted = function.parameters
        if not (function.may_fail or function.seeks) and all(
            w in ("any", b) for w, b in zip(wanted, bases, strict=True)
        ):
            return call
        name = self.fresh()
        clauses += [Let(name, call), Check(f"{name} is not None")]
        return name

    def _inline(self, term: syntax.RuleCall, arguments: list[str], bases: list[str]) -> str | None:
        if term.function in ("+", "-") and bases == ["number", "number"]:
            return f"({arguments[0]} {term.function} {arguments[1]})"
        # appending a constant adds only the length of the constant; joining two variables may double a string, so
        # `join` checks lengths
        is_short = any(isinstance(a, syntax.Constant) for a in term.arguments)
        if term.function == "++" and bases == ["symbol", "symbol"] and is_short:
            return f"({arguments[0]} + {arguments[1]})"
        return None

    def base(self, term: syntax.Term) -> str:
        """The base type of a term at this position. If the variable comes from a column of type any, a later literal
        may narrow its type."""
        if isinstance(term, syntax.RuleVariable) and term.name in self.bases:
            return self.bases[term.name]
        kind = self.types.of(term)
        return kind.base if kind is not None else "any"

    def comparison(self, operator: str, left: str, right: str, bases: tuple[str, str]) -> str:
        if operator in ("=", "!=") or (bases[0] == bases[1] != "any"):
            return f"{left} {_COMPARISONS[operator]} {right}"
        return f"{_ORDERS[operator]}({left}, {right})"

    def optional(self, term: syntax.Term) -> str:
        """The code of a term. The value of this code is None if the term has no value."""
        if not isinstance(term, syntax.RuleCall):
            return self.term(term, [])
        function = FUNCTIONS.get(term.function) or RELATIONS[term.function]
        parts = [self.function(function), *map(self.optional, term.arguments)]
        return f"optional({', '.join(parts)})"

    def test(self, test: syntax.Test, clauses: list[Clause]) -> str:
        if test.function == "undefined":
            return f"{self.optional(test.arguments[0])} is {'not ' if test.negated else ''}None"
        arguments = [self.term(a, clauses) for a in test.arguments]
        typed = all(self.base(a) == "symbol" for a in test.arguments)
        negation = "not " if test.negated else ""
        if typed and test.function == "starts_with":
            return f"{negation}{arguments[0]}.startswith({arguments[1]})"
        if typed and test.function == "ends_with":
            return f"{negation}{arguments[0]}.endswith({arguments[1]})"
        if typed and test.function == "contains":
            return f"{arguments[1]} {negation}in {arguments[0]}"
        if typed and test.function == "matches" and isinstance(test.arguments[1], syntax.Constant):
            name = f"m{len(self.prelude)}"
            name = self.prelude.setdefault(f"finder({arguments[1]})", name)
            return f"{name}({arguments[0]}) is {'' if test.negated else 'not '}None"
        return f"{negation}{self.function(TESTS[test.function])}({', '.join(arguments)})"

    # -------- literals

    def relation(self, atom: syntax.Atom) -> str:
        number = self.predicates[atom.predicate].number
        return self.prelude.setdefault(f"R[{number}]", f"r{number}")

    def index(self, atom: syntax.Atom, keys: list[int], has_rows: bool) -> str:
        predicate = self.predicates[atom.predicate]
        number = self.indexes.number(CompiledIndex(predicate.number, predicate.arity, tuple(keys), has_rows))
        self.needs.add(number)
        if has_rows:
            return self.prelude.setdefault(f"I[{number}].get", f"i{number}")
        return self.prelude.setdefault(f"I[{number}]", f"i{number}")

    def is_known(self, term: syntax.Term) -> bool:
        return isinstance(term, syntax.Constant) or (isinstance(term, syntax.RuleVariable) and term.name in self.names)

    def atom(self, atom: syntax.Atom, clauses: list[Clause], is_delta: bool = False) -> None:
        """Add the loop over the rows of an atom. The loop binds new variables, and compares the values of known
        variables."""
        arguments = atom.arguments
        keys = [i for i, a in enumerate(arguments) if self.is_known(a)]
        rest = [i for i, a in enumerate(arguments) if isinstance(a, syntax.RuleVariable) and i not in keys]
        scan = is_delta or not keys
        if len(keys) == len(arguments) and not is_delta:
            row = tuple_code([self.term(a, clauses) for a in arguments]) if arguments else "()"
            clauses.append(Check(f"{row} in {self.relation(atom)}"))
            return
        if not keys and not rest and not is_delta:
            clauses.append(Check(self.relation(atom)))  # if all arguments are wildcards, any row is sufficient
            return
        if not scan:
            key = key_code([self.term(arguments[i], clauses) for i in keys])
            if not rest:
                clauses.append(Check(f"{key} in {self.index(atom, keys, has_rows=False)}"))
                return
        targets: list[str] = []
        conditions: list[Clause] = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, syntax.Wildcard) or (not scan and i in keys):
                targets.append("_")
            elif self.is_known(argument):
                targets.append(self.fresh())
                conditions.append(Check(f"{targets[-1]} == {self.term(argument, clauses)}"))
            else:
                assert isinstance(argument, syntax.RuleVariable)
                targets.append(self.fresh())
                self.names[argument.name] = targets[-1]
                self.bases[argument.name] = self.predicates[atom.predicate].columns[i].type.base
        if scan:
            source = "D" if is_delta else self.relation(atom)
            clauses.append(Loop(tuple_code(targets) if targets else "()", source, not is_delta))
        else:
            clauses.append(Loop(tuple_code(targets), f"{self.index(atom, keys, has_rows=True)}({key}, E)"))
        clauses += conditions

    def negation(self, literal: syntax.Negation, clauses: list[Clause]) -> None:
        arguments = literal.atom.arguments
        keys = [i for i, a in enumerate(arguments) if not isinstance(a, syntax.Wildcard)]
        parts = [self.term(arguments[i], clauses) for i in keys]
        if len(keys) == len(arguments):
            row = tuple_code(parts) if parts else "()"
            relation = self.relation(literal.atom)
            clauses.append(Check(f"{row} not in {relation}", relation))
        elif not keys:
            relation = self.relation(literal.atom)
            clauses.append(Check(f"not {relation}", relation))
        else:
            clauses.append(Check(f"{key_code(parts)} not in {self.index(literal.atom, keys, has_rows=False)}"))

    def compare(self, literal: syntax.Comparison, clauses: list[Clause]) -> None:
        target = assigned(literal, set(self.names), self.outer)
        if target is not None:
            is_left = isinstance(literal.left, syntax.RuleVariable) and literal.left.name == target
            value = self.term(literal.right if is_left else literal.left, clauses)
            self.names[target] = self.fresh()
            clauses.append(Let(self.names[target], value))
            return
        left, right = self.term(literal.left, clauses), self.term(literal.right, clauses)
        bases = (self.base(literal.left), self.base(literal.right))
        clauses.append(Check(self.comparison(literal.operator, left, right, bases)))

    def builtin(self, literal: syntax.Builtin, clauses: list[Clause]) -> None:
        """Add a loop over the rows of a built-in relation or, for a negation, a check that the relation has no matching
        rows."""
        inputs = [self.term(a, clauses) for a in literal.inputs]
        if literal.relation == syntax.MEMBER:
            (subject,) = literal.outputs
            if isinstance(subject, syntax.RuleCall) or self.is_known(subject):
                word = "not in" if literal.negated else "in"
                clauses.append(Check(f"{self.term(subject, clauses)} {word} {tuple_code(inputs)}"))
                return
        rows = f"{self.function(RELATIONS[literal.relation])}({', '.join(inputs)})"
        targets: list[str] = []
        conditions: list[str] = []
        for argument in literal.outputs:
            if isinstance(argument, syntax.Wildcard):
                targets.append("_")
                continue
            targets.append(self.fresh())
            if self.is_known(argument):
                conditions.append(f"{targets[-1]} == {self.term(argument, clauses)}")
            else:
                assert isinstance(argument, syntax.RuleVariable)
                if argument.name in self.names:
                    conditions.append(f"{targets[-1]} == {self.names[argument.name]}")
                self.names[argument.name] = targets[-1]
        if literal.negated:
            name = self.fresh()
            clauses += [Let(name, rows), Check(f"{name} is not None")]
            matching = " ".join([f"for {tuple_code(targets)} in {name}", *(f"if {c}" for c in conditions)])
            clauses.append(Check(f"not any(True {matching})"))
            return
        clauses.append(Loop(tuple_code(targets), f"({rows} or E)"))
        clauses += [Check(condition) for condition in conditions]

    def aggregate(self, literal: syntax.Aggregate, clauses: list[Clause]) -> None:
        """Add the value of an aggregate, computed by an inner comprehension. Wildcards are treated as variables, so
        that each assignment occurs once."""
        saved = dict(self.names)
        inner: list[Clause] = []
        names = inner_names(literal)
        for ordered in join_order(without_wildcards(literal.body), names & self.outer, names | self.outer):
            self.literal(ordered, inner)
        value = "1" if literal.expression is None else self.term(literal.expression, inner)
        self.names = saved
        values = f"[{value} {_comprehension(inner)}]"
        base = self.base(literal.expression) if literal.expression is not None else "number"
        is_partial = literal.function in ("min", "max") or (literal.function == "sum" and base != "number")
        if literal.function == "count":
            code = f"len({values})"
        elif base == "any":
            code = f"aggregate({literal.function!r}, {values})"
        else:
            code = f"sum({values})" if literal.function == "sum" else f"{literal.function}({values}, default=None)"
        result = literal.result
        assert isinstance(result, syntax.RuleVariable)
        if result.name in self.names:
            clauses.append(Check(f"{code} == {self.names[result.name]}"))
            return
        name = self.names[result.name] = self.fresh()
        clauses.append(Let(name, code))
        if is_partial:
            clauses.append(Check(f"{name} is not None"))

    def literal(self, literal: syntax.Literal, clauses: list[Clause]) -> None:
        if isinstance(literal, syntax.Atom):
            self.atom(literal, clauses)
        elif isinstance(literal, syntax.Negation):
            self.negation(literal, clauses)
        elif isinstance(literal, syntax.Comparison):
            self.compare(literal, clauses)
        elif isinstance(literal, syntax.Test):
            clauses.append(Check(self.test(literal, clauses)))
        elif isinstance(literal, syntax.Builtin):
            self.builtin(literal, clauses)
        else:
            assert isinstance(literal, syntax.Aggregate)
            self.aggregate(literal, clauses)

    def _choice(self, row: str, clauses: list[Clause]) -> str | None:
        """The code of a rule that only selects rows of one relation. This code creates and hashes no row again; if the
        rule selects all rows, it is only the relation itself. None for other rules."""
        guards: list[Check] = []
        scan: Loop | None = None
        tests: list[Check] = []
        for clause in clauses:
            if isinstance(clause, Check):
                (guards if scan is None else tests).append(clause)
            elif scan is not None or not isinstance(clause, Loop):
                return None
            else:
                scan = clause
        if scan is None or not scan.is_scan or scan.target != row:
            return None
        rows = chosen = scan.source
        if tests:
            whole = self.fresh()
            passing = " ".join(map(str, tests))
            chosen = f"chosen({rows}, [{whole} for {whole} in {rows} for {row} in ({whole},) {passing}])"
            if all(test.passed_by for test in tests):
                chosen = f"({chosen} if {' or '.join(test.passed_by for test in tests)} else {rows})"
        conditions = " and ".join(f"({guard.condition})" for guard in guards)
        return f"{chosen} if {conditions} else {{}}" if guards else chosen

    def clauses(self, delta: syntax.Atom | None = None) -> tuple[str, list[Clause]]:
        """(code of the row of the head, clauses of the body). `delta`: the atom that reads only the new rows of the
        last round; None for a rule that is not recursive."""
        clauses: list[Clause] = []
        for literal in join_order(self.rule.body, (), self.outer, delta):
            if literal is delta:
                assert isinstance(literal, syntax.Atom)
                self.atom(literal, clauses, is_delta=True)
            else:
                self.literal(literal, clauses)
        head = [self.term(a, clauses) for a in self.rule.head.arguments]
        return tuple_code(head) if head else "()", clauses

    def comprehension(self) -> str:
        """The code of the rule as one expression, whose value is a relation with new rows or an existing relation."""
        row, clauses = self.clauses()
        return self._choice(row, clauses) or _new_rows(row, clauses)

    def statements(self, delta: syntax.Atom | None = None) -> list[str]:
        """The statements of a function that adds rows to `O`."""
        row, clauses = self.clauses(delta)
        chosen = self._choice(row, clauses) if delta is None else None
        prelude = [f"{name} = {code}" for code, name in self.prelude.items()]
        if chosen is not None:
            return [*prelude, f"return {chosen}"]
        if len(clauses) > _DEEPEST:
            return [*prelude, f"O.update({_new_rows(row, clauses)})", "return O"]
        lines = []
        depth = 0
        for clause in clauses:
            if isinstance(clause, Let):
                lines.append(f"{' ' * depth}{clause.name} = {clause.value}")
            else:
                lines.append(f"{' ' * depth}{clause}:")
                depth += 1
        return [*prelude, *lines, " " * depth + f"O[{row}] = None", "return O"]


def _new_rows(row: str, clauses: list[Clause]) -> str:
    return f"{{{row}: None {_comprehension(clauses)}}}"


def _comprehension(clauses: list[Clause]) -> str:
    """The code of the clauses of a comprehension, which must begin with a loop."""
    first = [] if clauses and not isinstance(clauses[0], Check) else ["for _ in ONE"]
    return " ".join([*first, *map(str, clauses)])


def constant_code(value: str | int | Decimal | bool) -> str:
    if type(value) is bool:
        return "TRUE" if value else "FALSE"
    if type(value) is str or type(value) is int:
        return repr(value)
    return f"Fraction({str(value)!r})"
