"""Reads and runs cases: tests of rules, which are written in the rule language. The names of files with cases end in
`.case`.

    module_call("module.net", "").                       // holds in every case of the file

    .case "an object waits for what it refers to"
    reference("a", "b", "input").                        // given
    .want edge("a", "b").
    .want none pruned, cycle.

    .case "an object does not wait for itself"
    reference("a", "a", "input").
    .want none edge.

Facts before the first `.case` are given in every case. `.given "PATH"` adds the facts of a plan, a state or a
configuration, if the program of the case can read such facts. Facts may belong to any predicate; facts of a derived
predicate are added to its derived rows. A predicate in `.want` must have exactly the expected rows. Other predicates
are not checked. `.want none` expects no rows. `.want` may contain several atoms separated by commas, and may occur
several times in a case."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax import rule_syntax as syntax
from planner.language.syntax.rule_parse import parse_rules
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.checks import listed_words
from planner.logic.datalog.language.spaces import bare, nearest, qualified
from planner.logic.datalog.language.types import fits_column
from planner.logic.datalog.language.values import Row, encode, sorted_rows


@frozen
class Case:
    """A case. `facts`: its facts. `wanted`: {predicate in `.want`: its expected rows}."""

    name: str
    facts: FactBase
    wanted: dict[str, set[Row]]
    span: Span
    given: tuple[tuple[str, Span], ...] = ()
    """(path, position) of each `.given "PATH"`; the program that runs the case adds the facts in these files if it can
    read them"""


@frozen
class Mismatch:
    """A predicate whose rows differ from the expected rows."""

    case: Case
    predicate: str
    missing: tuple[Row, ...]
    unexpected: tuple[Row, ...]


def load_cases(program: RuleProgram, name: str, text: str, space: str = "") -> tuple[list[Case], list[Diagnostic]]:
    """(cases, diagnostics) of a file. The cases are checked against the declarations of the program. Names of
    predicates have the same meaning as in rule files of the namespace `space`. Predicates of other namespaces are
    imported, or are written with their full names."""
    file, diagnostics = parse_rules(name, text)
    reader = _CaseReader(program, space)
    reader.read(file.statements)
    return reader.cases, diagnostics + reader.diagnostics


def run_case(program: RuleProgram, case: Case) -> list[Mismatch]:
    """The predicates whose rows differ from the expected rows; [] if the case passes. Raises ValueError for facts with
    invalid values, and Failure if computed values grow without bound."""
    return compare(case, evaluate(program, case.facts, case.wanted))


def compare(case: Case, database: Database) -> list[Mismatch]:
    mismatches = []
    for predicate, wanted in sorted(case.wanted.items()):
        rows = database[predicate]
        if rows != wanted:
            missing, unexpected = sorted_rows(wanted - rows), sorted_rows(rows - wanted)
            mismatches.append(Mismatch(case, predicate, tuple(missing), tuple(unexpected)))
    return mismatches


class _CaseReader:
    def __init__(self, program: RuleProgram, space: str) -> None:
        self.program, self.space = program, space
        self.imports: dict[str, str] = {}
        self.cases: list[Case] = []
        self.diagnostics: list[Diagnostic] = []
        self.common: list[tuple[str, Row, Span]] = []
        self.begin: syntax.CaseSyntax | None = None
        self.given: list[tuple[str, Row, Span]] = []
        self.common_paths: list[tuple[str, Span]] = []
        self.paths: list[tuple[str, Span]] = []
        self.wanted: dict[str, set[Row]] = {}

    def read(self, statements: Iterable[syntax.Statement]) -> None:
        for statement in statements:
            if isinstance(statement, syntax.CaseSyntax):
                self._end()
                self.begin, self.given, self.paths, self.wanted = statement, [], [], {}
            elif isinstance(statement, syntax.GivenSyntax):
                paths = self.common_paths if self.begin is None else self.paths
                paths.append((statement.path, statement.span))
            elif isinstance(statement, syntax.RuleSyntax) and not statement.body and not statement.annotations:
                row = self._row(statement, statement.head)
                if row is not None:
                    facts = self.common if self.begin is None else self.given
                    facts.append((self._name(statement.head.predicate), row, statement.span))
            elif isinstance(statement, syntax.ImportSyntax):
                self.imports[statement.alias.text] = statement.space.text
            elif isinstance(statement, syntax.Want) and self.begin is not None:
                self._want(statement)
            else:
                detail = (
                    "A file of cases can contain facts, .case and, after a .case, .want, but no rules and no "
                    "declarations."
                )
                self._error("rules.case", "Statement not allowed in a case", detail, statement.span)
        self._end()

    def _end(self) -> None:
        if self.begin is None:
            return
        if not self.wanted:
            detail = "The case has no expected result. Add a .want, or .want none."
            self._error("rules.case", "Case without a .want", detail, self.begin.span)
        builder = FactBuilder()
        for predicate, row, span in (*self.common, *self.given):
            builder.add(predicate, *row, source=span)
        paths = (*self.common_paths, *self.paths)
        self.cases.append(Case(self.begin.name, builder.build(), self.wanted, self.begin.span, paths))

    def _want(self, statement: syntax.Want) -> None:
        for atom in statement.atoms:
            row = self._row(statement, atom)
            if row is not None:
                self.wanted.setdefault(self._name(atom.predicate), set()).add(row)
        for name in statement.none:
            if self._is_known(statement, name.text, name):
                self.wanted.setdefault(self._name(name.text), set())

    def _is_known(self, statement: syntax.Statement, name: str, node: syntax.Name | syntax.Atom) -> bool:
        predicates = self.program.predicates
        if self._name(name) in predicates:
            return True
        known = {bare(p) if predicates[p].space == self.space else p: p for p in predicates}
        near = nearest(name, known, lambda n: predicates[known[n]].declaration.replace(known[n], n))
        detail = f"There is no predicate {name}.{near}"
        self._error("rules.unknown_predicate", "Unknown predicate", detail, statement.within(node))
        return False

    def _name(self, name: str) -> str:
        """The full name of the predicate that the file calls `name`. An unknown name without a prefix is returned
        unchanged."""
        predicates = self.program.predicates
        qualifier, _, last = name.rpartition(".")
        if qualifier:
            return qualified(self.imports.get(qualifier, qualifier), last)
        own = qualified(self.space, name)
        if own in predicates or name in predicates or self.space:
            return own if own in predicates else name
        exported = [p for p in predicates if bare(p) == name and predicates[p].is_exported]
        return exported[0] if len(exported) == 1 else name

    def _row(self, statement: syntax.Statement, atom: syntax.Atom) -> Row | None:
        """The row that an atom describes. If the atom contains variables, or does not match the declaration of its
        predicate, an error is added, and the result is None."""
        if not self._is_known(statement, atom.predicate, atom):
            return None
        predicate = self.program.predicates[self._name(atom.predicate)]
        if len(atom.arguments) != predicate.arity:
            detail = f"The predicate is declared as {predicate.declaration}."
            self._error("rules.arity", "Wrong number of arguments", detail, statement.within(atom))
            return None
        row = []
        for argument, column in zip(atom.arguments, predicate.columns, strict=True):
            if not isinstance(argument, syntax.Constant):
                self._problem(
                    statement, argument, f"A tuple in a case can contain only constants, but {argument} is not one."
                )
                return None
            if not fits_column(argument, column.type):
                self._problem(
                    statement,
                    argument,
                    f"{predicate.name}.{column.name} is a {column.type.name}, but {argument} is not one.",
                )
                return None
            words = listed_words(predicate, column.name) if isinstance(argument.value, str) else []
            if words and argument.value not in words:
                detail = f"No row of {predicate.name} has {argument} as its {column.name}. "
                detail += f"Possible values: {', '.join(words)}."
                span = statement.within(argument)
                self.diagnostics.append(warning("rules.unknown_word", "Unknown word", detail, span))
            row.append(encode(argument.value))
        return tuple(row)

    def _problem(self, statement: syntax.Statement, node: syntax.RuleNode, detail: str) -> None:
        self._error("rules.case", "Invalid tuple", detail, statement.within(node))

    def _error(self, code: str, summary: str, detail: str, span: Span) -> None:
        self.diagnostics.append(error(code, summary, detail, span))
