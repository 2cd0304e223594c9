"""Hides secrets in derived rows: sensitive values, and everything that is computed from them. Rules compare sensitive
values like all other values; they are hidden only in the output. A column of a fact is secret if it contains the value
at a sensitive path. A column of a derived row is secret if a derivation copies a secret into it (by a variable of a
secret column), or computes it from such a variable. The public pieces of a concatenation remain:
"the password of " ++ A ++ " is " ++ V becomes "the password of db is (sensitive value)".

All derivations of a row are considered, not only the derivation in the proof. If the results without secrets differ,
the whole value is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from planner.answers.policy.facts.owners import argument_spans
from planner.answers.policy.facts.relations import CONTENTS, PATHS, PolicyFacts
from planner.answers.policy.planned_values import AT_PATHS, END, root_of
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import OutputDecl, ProviderDecl, ResourceDecl, VariableDecl
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.interpret import Assignment, value_of
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.render import Absence, AggregateValue, Condition, render
from planner.logic.datalog.explain.search import Entry, Proof, Prover
from planner.logic.datalog.language.functions import to_symbol
from planner.logic.datalog.language.model import Rule, atoms, inner_names, names, outer_names
from planner.logic.datalog.language.order import join_order
from planner.logic.datalog.language.values import Row, Value
from planner.logic.model.graph import source_json

MASK = "(sensitive value)"


class Curtain:
    """Determines which columns of a row may be shown. Values in `more` are hidden like sensitive values."""

    def __init__(self, prover: Prover, facts: PolicyFacts, more: Mapping[tuple[str, str], str] | None = None) -> None:
        self.prover, self.facts = prover, facts
        self.hidden = {**facts.hidden, **more} if more else facts.hidden
        self.carriers = self._carriers() if self.hidden else set()
        self._shown: dict[tuple[str, Row], Row] = {}

    def _carriers(self) -> set[str]:
        """The predicates whose rows may contain secrets."""
        carriers = set(PATHS)
        changed = True
        while changed:
            changed = False
            for rule in self.prover.program.rules:
                if rule.head.predicate not in carriers and any(a.predicate in carriers for a, how in atoms(rule.body)):
                    carriers.add(rule.head.predicate)
                    changed = True
        return carriers

    # -------- rows

    def row(self, predicate: str, row: Row) -> Row:
        """The row, in which the secrets are replaced."""
        if predicate not in self.carriers:
            return row
        known = self._shown.get((predicate, row))
        if known is None:
            self._shown[predicate, row] = row  # used for derivations that lead back to this row
            try:
                known = self._fact(predicate, row) if predicate in PATHS else self._derived(predicate, row)
            except RecursionError:
                known = (MASK,) * len(row)
            self._shown[predicate, row] = known
        return known

    def _fact(self, predicate: str, row: Row) -> Row:
        hidden, address = self.hidden, row[0]
        shown = list(row)
        for column in PATHS[predicate]:
            path, end = row[column], ""
            if predicate == "maybe" and column == 2:
                width = len(END) if path.endswith(END) else 1
                path, end = path[:-width], path[-width:]
            mark = hidden.get((address, path))
            if mark is not None:
                shown[column] = mark + end
        contents = row[1] if predicate != "part" else row[3]
        if (address, contents) in hidden:
            for column in CONTENTS.get(predicate, ()):
                if predicate != "part" or shown[3] != row[3]:
                    shown[column] = MASK
        return tuple(shown)

    def _derived(self, predicate: str, row: Row) -> Row:
        ways = []
        for _, number, _, assignment, rows in self.prover.derivations((predicate, row)):
            rule = self.prover.program.rules[number]
            secrets = self.secrets(rule, assignment, rows)
            ways.append(
                tuple(shown_term(t, assignment, secrets, v) for t, v in zip(rule.head.arguments, row, strict=True))
            )
        columns = []
        for column, value in enumerate(row):
            masked = {way[column] for way in ways if way[column] != value}
            columns.append(value if not masked else masked.pop() if len(masked) == 1 else MASK)
        return tuple(columns)

    # -------- variables

    def secrets(self, rule: Rule, assignment: Assignment, rows: dict[int, Row]) -> Assignment:
        """{variable whose value in this application of a rule contains a secret: the value that is shown instead}."""
        return self._secrets(rule.body, assignment, rows, outer_names(rule.head, rule.body))

    def _secrets(
        self, body: tuple[syntax.Literal, ...], assignment: Assignment, rows: dict[int, Row], outer: set[str]
    ) -> Assignment:
        secrets: Assignment = {}
        for literal in body:
            if isinstance(literal, syntax.Atom) and literal.predicate in self.carriers:
                row = rows[id(literal)]
                for argument, value, shown in zip(
                    literal.arguments, row, self.row(literal.predicate, row), strict=True
                ):
                    if isinstance(argument, syntax.RuleVariable) and shown != value:
                        secrets[argument.name] = shown
            elif isinstance(literal, syntax.Aggregate) and self._takes_secrets(literal, assignment, outer):
                secrets.update(dict.fromkeys(names(literal.result), MASK))
        for _ in body:
            for literal in body:
                if isinstance(literal, syntax.Comparison) and literal.operator == "=":
                    for target, term in literal.sides:
                        if (
                            isinstance(target, syntax.RuleVariable)
                            and target.name not in secrets
                            and names(term) & secrets.keys()
                        ):
                            secrets[target.name] = shown_term(term, assignment, secrets, assignment[target.name])
                elif isinstance(literal, syntax.Builtin) and names(*literal.inputs) & secrets.keys():
                    for output in literal.outputs:
                        if isinstance(output, syntax.RuleVariable):
                            secrets.setdefault(output.name, MASK)
        return secrets

    def _takes_secrets(self, literal: syntax.Aggregate, assignment: Assignment, outer: set[str]) -> bool:
        """Whether an aggregate reads a value that is secret or computed from a secret."""
        if literal.expression is None or not {a.predicate for a, _ in atoms(literal.body)} & self.carriers:
            return False
        fixed = {name: value for name, value in assignment.items() if name in outer}
        ordered = join_order(literal.body, fixed, outer | inner_names(literal))
        wanted = names(literal.expression)
        return any(
            wanted & self._secrets(literal.body, known, rows, outer).keys()
            for known, rows in self.prover.relations.solutions(ordered, fixed, outer)
        )

    # -------- proofs

    def obstacles(self, obstacles: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The given reasons why rows do not hold. If the plan has sensitive values, conditions are shown as they are
        written in the rules."""
        if not self.hidden:
            return obstacles
        rules = {rule.name: rule for rule in self.prover.program.rules}
        return [
            {"rule": o["rule"], "fails": str(rules[o["rule"]].body[o["literal"]]), "bound": {}, "head_fits": True}
            for o in obstacles
            if "literal" in o
        ]

    def proof(self, proof: Proof) -> dict[str, Any]:
        """A proof in the documented format, without secrets."""
        if not self.hidden:
            return proof_json(proof, self.facts, source_json)
        copies: dict[int, Proof] = {}
        stack = [(proof, False)]
        while stack:
            at, is_left = stack.pop()
            if is_left:
                copies[id(at)] = self._copy(at, copies)
            elif id(at) not in copies:
                stack.append((at, True))
                stack += [(entry, False) for entry in at.body if isinstance(entry, Proof)]
        return proof_json(copies[id(proof)], self.facts, self._source)

    def _copy(self, proof: Proof, copies: dict[int, Proof]) -> Proof:
        shown = self.row(proof.predicate, proof.row)
        rule = proof.rule
        if rule is None:
            return Proof(proof.predicate, shown, native=proof.native)
        pairs = list(zip(rule.body, proof.body, strict=True))
        rows = {id(literal): entry.row for literal, entry in pairs if isinstance(entry, Proof)}
        assignment = {**proof.assignment, **self.secrets(rule, proof.assignment, rows)}
        outer = outer_names(rule.head, rule.body)
        body: list[Entry] = []
        for literal, entry in pairs:
            if isinstance(entry, Proof):
                body.append(copies[id(entry)])
            elif isinstance(literal, syntax.Negation):
                terms = literal.atom.arguments
                pattern = tuple(None if isinstance(t, syntax.Wildcard) else value_of(t, assignment) for t in terms)
                body.append(Absence(literal.atom.predicate, pattern))
            elif isinstance(literal, syntax.Aggregate):
                fixed = {name: value for name, value in assignment.items() if name in outer}
                body.append(AggregateValue(render(literal, fixed), value_of(literal.result, assignment)))
            else:
                body.append(Condition(render(literal, assignment)))
        return Proof(proof.predicate, shown, rule, assignment, tuple(body), proof.height)

    def _source(self, source: Any) -> dict[str, Any]:
        document = source_json(source)
        if isinstance(source, Span) and (source.filename, source.line) in self.secret_lines:
            del document["snippet"]
        return document

    def is_quotable(self, span: Span) -> bool:
        """Whether no line of a span contains secrets."""
        return not self.hidden or self.secret_lines.isdisjoint(lines(span))

    @cached_property
    def secret_lines(self) -> set[tuple[str, int]]:
        """(file, line) of each line of an argument with secrets. Proofs must not quote these lines."""
        secret: set[tuple[str, int]] = set()
        done: set[tuple[int, str]] = set()
        for address, path in self.hidden:
            decl, root = self.facts.owners.about(address), root_of(path)
            if decl is not None and (id(decl), root) not in done:
                done.add((id(decl), root))
                for span in secret_spans(decl, root):
                    secret.update(lines(span))
        return secret


def values_in(proof: Proof) -> dict[tuple[str, str], str]:
    """{(address, path): path} of the values in a proof."""
    items = (at.row for at in proof.leaves() if at.predicate in AT_PATHS or at.predicate == "json_value")
    return {(str(row[0]), str(row[1])): str(row[1]) for row in items}


def lines(span: Span) -> list[tuple[str, int]]:
    """(file, number) of each line of a span."""
    last = span.source.line_number(max(span.start, span.end - 1))
    return [(span.filename, line) for line in range(span.line, last + 1)]


def secret_spans(decl: ResourceDecl | OutputDecl | VariableDecl | ProviderDecl, root: str) -> list[Span]:
    """The spans where a declaration sets the secret value. `root`: the name of the argument."""
    if isinstance(decl, OutputDecl):
        return [decl.span, decl.value.span]
    if isinstance(decl, VariableDecl):
        return [decl.span, *([decl.default_span] if decl.default_span else [])]
    return argument_spans(decl, root)


def shown_term(term: syntax.Term, assignment: Assignment, secrets: Assignment, value: Value) -> Value:
    """The value of a term, in which secrets are replaced."""
    if not names(term) & secrets.keys():
        return value
    if isinstance(term, syntax.RuleVariable):
        return secrets[term.name]
    if isinstance(term, syntax.RuleCall) and term.function == "++":
        shown = []
        for part in term.arguments:
            known = value_of(part, assignment)
            shown.append(to_symbol(shown_term(part, assignment, secrets, "" if known is None else known)))
        return "".join(shown)
    return MASK
