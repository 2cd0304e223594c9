"""Answers queries. A query is a rule body without a head, evaluated over facts and derived rows:

    edge(A, "terraform_data.web"), not pruned(A)

The answer is a table with a column for each variable, in the order in which they appear, and a row for each assignment
that makes all literals true. If every atom contains a constant, or a variable that an earlier atom binds, pyDatalog
answers the query, beginning at these values (see below). Other queries, and queries with alternatives, aggregates,
built-in relations or computed values, are answered by planner's own evaluator. Relations may be recursive, but queries
may not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_parse import parse_query as parse
from planner.language.syntax.rule_syntax import (
    Aggregate,
    Atom,
    Builtin,
    Comparison,
    Constant,
    Literal,
    RuleCall,
    RuleVariable,
)
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.engine.compile import index_code
from planner.logic.datalog.engine.compile_rule import BodyCompiler, Indexes
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.interpret import Assignment
from planner.logic.datalog.engine.program import RuleProgram, namespace
from planner.logic.datalog.explain.search import Relations
from planner.logic.datalog.language import checks
from planner.logic.datalog.language.link import expanded_body, linked_body
from planner.logic.datalog.language.model import ANY, Column, Predicate, Rule, atoms, names, outer_names, variables
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.types import column_types
from planner.logic.datalog.language.values import Row, sorted_rows

_HEAD = "?"  # not a valid name in rule files


@frozen
class Query:
    """A checked query. `columns`: the variables that occur in all alternatives. `rules`: a rule for each alternative.
    `head`: the predicate of these rules. `predicates`: the predicates that the query reads, which must be evaluated
    first."""

    text: str
    columns: tuple[str, ...]
    rules: tuple[Rule, ...]
    head: Predicate
    predicates: frozenset[str]

    @property
    def literals(self) -> tuple[Literal, ...]:
        return tuple(literal for rule in self.rules for literal in rule.body)


@frozen
class QueryResult:
    """The answer to a query, as a table. `columns`: the variables. `rows`: sorted, in the engine's representation (see
    values.decode). The answer to a query without variables has no columns, and one row if the query is true."""

    columns: tuple[str, ...]
    rows: list[Row]

    def __bool__(self) -> bool:
        return bool(self.rows)


def parse_query(program: RuleProgram, text: str) -> tuple[Query | None, list[Diagnostic]]:
    """(checked query, diagnostics) of a text. Unknown predicates, wrong numbers of columns, wrong types, and unbound
    variables are errors. The query is None if there is an error."""
    written, source, diagnostics = parse(text)
    if has_errors(diagnostics):
        return None, diagnostics
    alternatives, problems = expanded_body(tuple(written), source)
    diagnostics += problems
    bodies = [linked_body(None, body) for body in alternatives]
    mentioned = []
    for body in bodies:
        outer = outer_names(None, body)
        looked_at = [literal.result if isinstance(literal, Aggregate) else literal for literal in body]
        mentioned.append([v.name for node in looked_at for v in variables(node) if v.name in outer])
    first = mentioned[0] if mentioned else []
    columns = tuple(dict.fromkeys(name for name in first if all(name in own for own in mentioned)))
    span = Span(source, 0, len(text))
    head = Atom(_HEAD, tuple(RuleVariable(name, 0, 0) for name in columns), 0, 0)
    predicate = Predicate(
        len(program.predicates), _HEAD, tuple(Column(c, ANY) for c in columns), "", span, False, True, False, False
    )
    rules = tuple(Rule(number, "<query>", head, body, "", text, span, False) for number, body in enumerate(bodies))
    predicates = {**program.predicates, _HEAD: predicate}
    diagnostics += checks.unknown_predicates(rules, predicates, "")
    diagnostics += checks.arity(rules, predicates)
    diagnostics += checks.form(rules)
    if not has_errors(diagnostics):
        diagnostics += checks.unsafe(rules)
        diagnostics += column_types(rules, predicates)
        diagnostics += checks.unknown_words(rules, predicates)
    diagnostics = list(dict.fromkeys(diagnostics))
    if has_errors(diagnostics):
        return None, diagnostics
    read = frozenset(atom.predicate for body in bodies for atom, _ in atoms(body))
    return Query(text, columns, rules, predicate, read), diagnostics


def ask(program: RuleProgram, database: Database, query: Query, seconds: float | None = None) -> QueryResult:
    """The answer to a query. If `seconds` is given, a separate process must answer the query within this time. Then the
    exceptions of `run_limited` may also be raised, such as Failure if a limit of time or memory is exceeded. Raises
    KeyError if a predicate was not evaluated."""
    for name in query.predicates:
        database[name]  # raises KeyError
    way = _top_down if is_goal_directed(query) else _bottom_up

    def work() -> set[Row]:
        return way(program, database, query)

    rows = work() if seconds is None else run_limited(work, seconds)
    return QueryResult(query.columns, sorted_rows(rows))


def is_goal_directed(query: Query) -> bool:
    """Whether pyDatalog answers the query. The query must have only one alternative, which computes nothing, and each
    atom with columns must contain a constant or a variable that an earlier atom (in the order of joins) binds."""
    if len(query.rules) > 1 or not all(_is_plain(literal) for literal in query.literals):
        return False
    known: set[str] = set()
    for literal in join_order(query.literals, (), set(query.columns)):
        if isinstance(literal, Atom) and literal.arguments:
            terms = literal.arguments
            if not any(isinstance(t, Constant) or (isinstance(t, RuleVariable) and t.name in known) for t in terms):
                return False
        known |= names(literal)
    return True


def _is_plain(literal: Literal) -> bool:
    if isinstance(literal, Aggregate | Builtin) or (isinstance(literal, Comparison) and literal.operator == "="):
        return False
    return not any(isinstance(term, RuleCall) for term in literal.children())


def _top_down(program: RuleProgram, database: Database, query: Query) -> set[Row]:
    return solve(database, query.literals, query.columns)


def _bottom_up(program: RuleProgram, database: Database, query: Query) -> set[Row]:
    predicates = {**program.predicates, _HEAD: query.head}
    indexes = Indexes()
    parts: list[str] = []
    uses: set[tuple[str, str]] = set()
    for rule in query.rules:
        compiler = BodyCompiler(rule, predicates, indexes)
        expression = compiler.comprehension()
        prelude = "".join(f"    {name} = {code}\n" for code, name in compiler.prelude.items())
        parts.append(f"def f{rule.number}(R, I):\n{prelude}    return {expression}\n")
        uses |= compiler.uses
    parts += [index_code(number, index) for index, number in indexes.numbers.items()]
    functions = namespace(uses)
    exec("\n".join(parts), functions)
    relations = [database.rows(name) if name in database else {} for name in program.predicates]
    made: list[Any] = []
    for index, number in indexes.numbers.items():
        made.append(defaultdict(list) if index.has_rows else set())
        functions[f"x{number}"](relations[index.predicate], made[-1])
    return {row for rule in query.rules for row in functions[f"f{rule.number}"](relations, made)}


# Goal-directed answers by pyDatalog, over existing relations. pyDatalog gets one clause: its head is the query, and its
# body has one predicate for each literal, over the variables of that literal. Python functions resolve these
# predicates, so that constants, wildcards, negations and tests have the same meaning as in rules; pyDatalog only
# compares values for equality. The clause has no recursion and no strings. The literals are in joining order, which
# determines the time of the query.

_numbers = count(1)  # pyDatalog has one table of resolvers per process, so their names must be unique


def solve(database: Database, body: tuple[Literal, ...], columns: tuple[str, ...]) -> set[Row]:
    """The assignments to `columns` that make all literals of the body true."""
    relations = Relations(database)
    clause: list[tuple[Literal, list[str]]] = []
    for literal in join_order(body, (), set(columns)):
        names = list(dict.fromkeys(v.name for v in variables(literal)))
        if names:
            clause.append((literal, names))
        elif next(relations.extensions(literal, {}, set(columns)), None) is None:
            return set()  # no row matches, so the literal is false
    if not clause:
        return {()}
    return _ask(relations, clause, columns)


def _ask(relations: Relations, clause: list[tuple[Literal, list[str]]], columns: tuple[str, ...]) -> set[Row]:
    from pyDatalog import Logic, pyEngine

    Logic()  # an empty database of clauses for this thread
    question = f"question{next(_numbers)}"
    registered: list[str] = []
    try:
        body = []
        for literal, names in clause:
            predicate = f"literal{next(_numbers)}"
            registered.append(f"{predicate}/{len(names)}")
            pyEngine.Python_resolvers[registered[-1]] = _resolver(relations, literal, names)
            body.append(pyEngine.Literal(predicate, [pyEngine.Var(name) for name in names]))
        head = pyEngine.Literal(question, [pyEngine.Var(name) for name in columns])
        pyEngine.assert_(pyEngine.Clause(head, body))  # noqa: PT009
        goal = pyEngine.Literal(question, [pyEngine.Var(name) for name in columns])
        return set(goal.ask() or ())
    finally:
        for name in registered:
            pyEngine.Python_resolvers.pop(name, None)
        Logic()


def _resolver(relations: Relations, literal: Literal, names: list[str]) -> Callable[..., Iterator[Row]]:
    """A function for pyDatalog. pyDatalog calls it with a term for each variable of the literal. It returns the values
    of these variables for each match."""

    def resolve(*terms: Any) -> Iterator[Row]:
        known: Assignment = {name: term.id for name, term in zip(names, terms, strict=True) if term.is_const()}
        ways = relations.extensions(literal, known, set(names))
        return iter({tuple(extended[name] for name in names) for _row, extended in ways})

    return resolve
