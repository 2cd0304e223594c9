"""Builds the model from the syntax: types, predicates, and rules with names and reasons. Reports errors in
declarations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count, product
from typing import NamedTuple

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax import rule_syntax as syntax
from planner.language.syntax.rule_syntax import Aggregate, Either, Literal, RuleSyntax, Written
from planner.logic.datalog.language.builtins import FUNCTIONS, RELATIONS, TESTS
from planner.logic.datalog.language.model import (
    ANY,
    BASE_TYPES,
    Column,
    ColumnType,
    Predicate,
    Rule,
    inner_variables,
    outer_names,
    renamed,
)
from planner.logic.datalog.language.spaces import Spaces, bare, nearest

LONGEST_NAME = 100  # maximum length, in characters, of a fact's text that is used as its name


class Linker:
    """Links the statements of all files. `types`, `predicates`, `rules` and `diagnostics` are complete after `link`."""

    def __init__(self, core: Collection[str] | None, spaces: Spaces | None = None) -> None:
        self.core, self.spaces = core, spaces or {}
        self.types: dict[str, ColumnType] = dict(BASE_TYPES)
        self.predicates: dict[str, Predicate] = {}
        self.rules: list[Rule] = []
        self.diagnostics: list[Diagnostic] = []

    def link(self, files: Iterable[syntax.RuleFile]) -> None:
        """Link the statements of all files. The declaration of a name may follow uses of the name, and may be in a
        different file."""
        files = list(files)
        declarations = [s for f in files for s in f.statements if isinstance(s, syntax.Declaration)]
        self._types([s for f in files for s in f.statements if isinstance(s, syntax.TypeDeclaration)])
        flags = self._directives(
            [s for f in files for s in f.statements if isinstance(s, syntax.Directive)], declarations
        )
        for declaration in declarations:
            self._declare(declaration, flags)
        self._native_inputs(declarations)
        for file in files:
            self._rules(file)
            for statement in file.statements:
                if not isinstance(
                    statement, syntax.TypeDeclaration | syntax.Declaration | syntax.Directive | syntax.RuleSyntax
                ):
                    detail = "Cases (.case, .want) belong in a separate file with the ending .case."
                    self._error("rules.syntax", "Case in a rule file", detail, statement.span)

    def _error(self, code: str, summary: str, detail: str, span: Span) -> None:
        self.diagnostics.append(error(code, summary, detail, span))

    def is_core(self, filename: str) -> bool:
        return self.core is None or filename in self.core

    # -------- declarations

    def _types(self, statements: list[syntax.TypeDeclaration]) -> None:
        declared: dict[str, syntax.TypeDeclaration] = {}
        for statement in statements:
            name = statement.name.text
            if name in BASE_TYPES:
                detail = f"The type {name} is built into the language."
                self._error("rules.duplicate", "Type declared twice", detail, statement.within(statement.name))
            elif name in declared:
                detail = f"The type {name} is already declared at {declared[name].span}."
                self._error("rules.duplicate", "Type declared twice", detail, statement.within(statement.name))
            else:
                declared[name] = statement
        for name, statement in declared.items():
            chain, at = [name], statement
            while True:
                base = at.base.text
                if base in BASE_TYPES:
                    self.types[name] = ColumnType(name, (*chain, base), statement.doc)
                elif base in chain:
                    detail = "A type cannot be a subtype of itself: " + " <: ".join([*chain, base]) + "."
                    self._error(
                        "rules.unknown_type", "Type lacks a base type", detail, statement.within(statement.base)
                    )
                elif base in declared:
                    chain.append(base)
                    at = declared[base]
                    continue
                elif at is statement:
                    self._unknown_type(at, at.base, declared)
                break
            self.types.setdefault(name, ANY)  # already reported; this declaration prevents further errors

    def _unknown_type(self, statement: syntax.Statement, name: syntax.Name, known: Iterable[str]) -> None:
        detail = f"There is no type {name.text}.{nearest(name.text, [*known, *self.types])} Declare it with .type."
        self._error("rules.unknown_type", "Unknown type", detail, statement.within(name))

    def _directives(
        self, directives: list[syntax.Directive], declarations: list[syntax.Declaration]
    ) -> dict[str, set[str]]:
        flags: dict[str, set[str]] = {"input": set(), "output": set(), "open": set(), "export": set()}
        declared = {d.name.text: d for d in reversed(declarations)}
        for directive in directives:
            for name in directive.names:
                span = directive.within(name)
                declaration = declared.get(name.text)
                if declaration is None:
                    self._unknown_predicate(name.text, span, declared)
                elif self.is_core(declaration.source.filename) and not self.is_core(directive.source.filename):
                    detail = (
                        f"{name.text} is a predicate of planner's own rules: only planner's files can have directives "
                        "for it."
                    )
                    self._error("rules.core_predicate", "Directive for a built-in predicate", detail, span)
                elif directive.kind == "input" and declaration.operator is not None:
                    detail = f"{name.text} is computed by a native operator, so it cannot be an input."
                    self._error("rules.input_derived", "Derived input predicate", detail, span)
                else:
                    flags[directive.kind].add(name.text)
        return flags

    def _unknown_predicate(self, name: str, span: Span, known: Iterable[str]) -> None:
        detail = f"There is no predicate {name}.{nearest(name, known)}"
        self._error("rules.unknown_predicate", "Unknown predicate", detail, span)

    def _declare(self, d: syntax.Declaration, flags: dict[str, set[str]]) -> None:
        name, span = d.name.text, d.within(d.name)
        core = self.is_core(d.source.filename)
        if bare(name) in TESTS or bare(name) in FUNCTIONS or bare(name) in RELATIONS:
            what = "relation" if bare(name) in RELATIONS else "test" if bare(name) in TESTS else "function"
            self._error("rules.duplicate", "Predicate declared twice", f"{bare(name)} is a built-in {what}.", span)
            return
        shadowed = self.predicates.get(bare(name))
        if name in self.predicates or (shadowed is not None and shadowed.is_core and not core):
            known = self.predicates.get(name) or self.predicates[bare(name)]
            if known.is_core and not core:
                detail = (
                    f"{name} is a predicate of planner's own rules ({known.span}). Choose another name for your "
                    "predicate."
                )
                self._error("rules.core_predicate", "Redeclared built-in predicate", detail, span)
            else:
                detail = f"{name} is already declared at {known.span}."
                self._error("rules.duplicate", "Predicate declared twice", detail, span)
            return
        if not d.doc:
            detail = (
                f"Document the meaning of a tuple of {name} in a doc comment (///) directly before its declaration."
            )
            self._error("rules.missing_doc", "Declaration without a doc comment", detail, d.span)
        columns, seen = [], set()
        for column in d.columns:
            if column.name in seen:
                detail = f"{name} has two columns {column.name}."
                self._error("rules.duplicate", "Column declared twice", detail, d.within(column))
            seen.add(column.name)
            type_ = self.types.get(column.type.text)
            if type_ is None:
                self._unknown_type(d, column.type, ())
            columns.append(Column(column.name, type_ or ANY))
        self.predicates[name] = Predicate(
            len(self.predicates),
            name,
            tuple(columns),
            d.doc or "",
            span,
            name in flags["input"],
            name in flags["output"],
            name in flags["open"],
            core,
            d.operator.text if d.operator else None,
            tuple(n.text for n in d.inputs),
            name in flags["export"],
        )

    def _native_inputs(self, declarations: list[syntax.Declaration]) -> None:
        for d in declarations:
            if d.operator is None or self.predicates.get(d.name.text) is None:
                continue
            operator = OPERATORS.get(d.operator.text)
            if operator is None:
                detail = f"There is no operator {d.operator.text}.{nearest(d.operator.text, OPERATORS)} There are "
                detail += ", ".join(sorted(OPERATORS)) + "."
                self._error("rules.native", "Unknown native operator", detail, d.within(d.operator))
                continue
            arities = [self.predicates[n.text].arity if n.text in self.predicates else None for n in d.inputs]
            for name, arity in zip(d.inputs, arities, strict=True):
                if arity is None:
                    self._unknown_predicate(name.text, d.within(name), self.predicates)
            if None not in arities and (tuple(arities), len(d.columns)) != (operator.inputs, operator.columns):
                columns = ["one column" if n == 1 else f"{n} columns" for n in (*operator.inputs, operator.columns)]
                wants = " and ".join(f"a predicate with {c}" for c in columns[:-1])
                detail = f"{d.operator.text} takes {wants} and returns {columns[-1]}."
                self._error("rules.native", "Invalid use of a native operator", detail, d.span)

    # -------- rules

    def _rules(self, file: syntax.RuleFile) -> None:
        """Link the rules of a file. A rule without a name is named after its position in the file. A fact of the
        product is named after its text, because the text changes less often. In a namespace, the name of a rule begins
        with the namespace."""
        entry = self.spaces.get(file.source.filename)
        stem = entry.stem if entry is not None else file.source.filename.removesuffix(".dl")
        space = f"{entry.space}/" if entry is not None else ""
        ordinal = 0
        facts: set[str] = set()
        is_core = self.core is not None and file.source.filename in self.core
        for statement in file.statements:
            if isinstance(statement, syntax.RuleSyntax):
                ordinal += 1
                text = "" if statement.body else str(statement.head)
                is_fact = is_core and text and len(text) <= LONGEST_NAME and text not in facts
                self._rule(statement, f"{stem}.{text}" if is_fact else f"{stem}.{ordinal}", space)
                facts.add(text)

    def _rule(self, statement: syntax.RuleSyntax, default_name: str, space: str) -> None:
        given: dict[str, str] = {}
        for key, value in statement.annotations:
            if key.text not in ("name", "reason"):
                detail = f"A rule can have a @name and a @reason, but not a @{key.text}."
                self._error("rules.annotation", "Unknown annotation", detail, statement.within(key))
            elif key.text in given:
                detail = f"The rule has two annotations @{key.text}."
                self._error("rules.annotation", "Annotation given twice", detail, statement.within(key))
            else:
                given[key.text] = str(value.value)
        head = statement.head
        span = Span(statement.source, head.start, statement.end)
        core = self.is_core(statement.source.filename)
        name, reason = f"{space}{given.get('name', default_name)}", given.get("reason", "")
        bodies, problems = expand_alternatives(statement)
        self.diagnostics += problems
        written = f"{head} :- {written_body(statement.body)}."
        for number, alternative in enumerate(bodies, 1):
            body = linked_body(head, alternative)
            called = name if len(bodies) == 1 else f"{name} (or {number})"
            text = written if len(bodies) > 1 else f"{head} :- {', '.join(map(str, body))}." if body else f"{head}."
            self.rules.append(Rule(len(self.rules), called, head, body, reason, text, span, core))


def linked_body(head: syntax.Atom | None, body: Iterable[syntax.Literal]) -> tuple[syntax.Literal, ...]:
    """The body, in which built-in tests and relations are distinguished from atoms, and local variables of aggregates
    have unique names."""
    literals = tuple(map(link_literal, body))
    taken = outer_names(head, literals)
    separated: list[syntax.Literal] = []
    for literal in literals:
        if isinstance(literal, syntax.Aggregate):
            local = dict.fromkeys(v.name for v in inner_variables(literal) if v.name not in outer_names(head, literals))
            fresh = {name: _unused_name(name, taken) for name in local if name in taken}
            taken |= {fresh.get(name, name) for name in local}
            literal = renamed(literal, fresh) if fresh else literal
        separated.append(literal)
    return tuple(separated)


def _unused_name(name: str, taken: set[str]) -> str:
    return next(n for n in (f"{name}_{i}" for i in count(2)) if n not in taken)


def link_literal(literal: syntax.Literal) -> syntax.Literal:
    """The literal; a Test or Builtin instead if its predicate is built in. The literals in an aggregate are converted
    in the same way."""
    if isinstance(literal, syntax.Atom) and literal.predicate in TESTS:
        return syntax.Test(literal.predicate, literal.arguments, False, literal.start, literal.end)
    if isinstance(literal, syntax.Negation) and literal.atom.predicate in TESTS:
        return syntax.Test(literal.atom.predicate, literal.atom.arguments, True, literal.start, literal.end)
    read = literal.atom if isinstance(literal, syntax.Negation) else literal
    if isinstance(read, syntax.Atom) and read.predicate in RELATIONS:
        count = len(RELATIONS[read.predicate].inputs)
        inputs, outputs = read.arguments[:count], read.arguments[count:]
        return syntax.Builtin(read.predicate, inputs, outputs, read is not literal, literal.start, literal.end)
    if isinstance(literal, syntax.Aggregate):
        return literal.mapped(link_literal)
    return literal


# The native operators of the language. planner.logic.datalog.engine.native implements them.


class Operator(NamedTuple):
    """The signature of a native operator. `inputs`: the numbers of columns of the input relations. `columns`: the
    number of columns of the result."""

    inputs: tuple[int, ...]
    columns: int


OPERATORS: dict[str, Operator] = {
    "reachable_labels": Operator((2, 2), 2),
    "closing": Operator((2, 2), 2),
    "closure": Operator((2,), 2),
    "json_parts": Operator((3,), 5),
    "json_values": Operator((3,), 4),
    "labels_behind": Operator((2, 2, 1), 2),
    "levels": Operator((2,), 2),
    "reachable": Operator((2, 1), 1),
    "reduction": Operator((2,), 2),
    "scc": Operator((2,), 2),
}


# A rule without a reason gets a reason from the declaration of its head.


_SENTENCE = re.compile(r"^\s*\w+\([^)]*\):\s*(.*?)(?:\.\s|\.$|$)", re.S)


def first_sentence(predicate: Predicate) -> str:
    """The first sentence of a predicate's doc comment, on one line and without the pattern before the colon; "" if the
    comment has a different form."""
    match = _SENTENCE.match(predicate.doc)
    return " ".join(match[1].split()) if match else ""


def with_reason(rule: Rule, predicates: Mapping[str, Predicate]) -> Rule:
    """The rule with a reason. If it has no reason of its own, its reason is the first sentence of the doc comment of
    its head's predicate. In this sentence, the column names in backquotes are replaced by the variables and constants
    of the head. If there is no such sentence, the rule is returned unchanged."""
    predicate = predicates.get(rule.head.predicate)
    first = first_sentence(predicate) if predicate and not rule.reason else ""
    if predicate is None or not first or len(rule.head.arguments) != predicate.arity:
        return rule
    meaning = {}
    for column, argument in zip(predicate.columns, rule.head.arguments, strict=True):
        if isinstance(argument, syntax.RuleVariable):
            meaning[column.name] = f"{{{argument.name}}}"
        elif isinstance(argument, syntax.Constant):
            meaning[column.name] = str(argument.value)
    sentence = first.replace("{", "(").replace("}", ")")
    return evolve(rule, reason=re.sub(r"`(\w+)`", lambda m: meaning.get(m[1], m[1]), sentence))


def has_own_reason(rule: Rule, predicates: Mapping[str, Predicate]) -> bool:
    return bool(rule.reason) and rule.reason != with_reason(evolve(rule, reason=""), predicates).reason


# Expands alternatives: `p :- a, (b ; c).` becomes `p :- a, b.` and `p :- a, c.`


MAX_ALTERNATIVES = 200  # maximum number of rules to which one rule is expanded


def expand_alternatives(statement: RuleSyntax) -> tuple[list[tuple[Literal, ...]], list[Diagnostic]]:
    """(bodies, errors) of a rule: a body for each combination of its alternatives. There are no bodies if there is an
    error, for example because there are too many combinations."""
    return expanded_body(statement.body, statement.source)


def expanded_body(body: tuple[Written, ...], source: Source) -> tuple[list[tuple[Literal, ...]], list[Diagnostic]]:
    """(bodies, errors). Each body results from choosing one of the alternatives at each place. There are no bodies if
    there is an error."""
    inside = [node for literal in body for node in _within_braces(literal)]
    if inside:
        detail = "Alternatives are not allowed between the braces of an aggregate. Derive them as a predicate first."
        return [], [
            error("rules.form", "Alternatives inside an aggregate", detail, Span(source, x.start, x.end))
            for x in inside
        ]
    number = _count(body)
    if number > MAX_ALTERNATIVES:
        detail = (
            f"The alternatives of this rule expand to {number} rules; at most {MAX_ALTERNATIVES} are allowed. Move "
            "some of them to another predicate."
        )
        place = Span(source, body[0].start, body[-1].end)
        return [], [error("rules.too_long", "Too many alternatives", detail, place)]
    return list(_bodies(body)), []


def _within_braces(literal: Written) -> Iterator[Either]:
    if isinstance(literal, Aggregate):
        written: tuple[Written, ...] = literal.body
        yield from (inner for inner in written if isinstance(inner, Either))
    elif isinstance(literal, Either):
        for body in literal.alternatives:
            for inner in body:
                yield from _within_braces(inner)


def _count(body: Iterable[Written]) -> int:
    number = 1
    for literal in body:
        if isinstance(literal, Either):
            number *= sum(map(_count, literal.alternatives))
    return number


def _bodies(body: tuple[Written, ...]) -> Iterator[tuple[Literal, ...]]:
    choices: list[list[tuple[Literal, ...]]] = [
        [chosen for alternative in literal.alternatives for chosen in _bodies(alternative)]
        if isinstance(literal, Either)
        else [(literal,)]
        for literal in body
    ]
    for chosen in product(*choices):
        yield tuple(literal for part in chosen for literal in part)


def written_body(body: tuple[Written, ...]) -> str:
    """The text of a body in a rule, without parentheses if it consists only of alternatives."""
    if len(body) == 1 and isinstance(body[0], Either):
        return str(body[0])[1:-1]
    return ", ".join(map(str, body))
