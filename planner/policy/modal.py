"""Policies in three values: what certainly holds, and what could still come to hold when unknown values become known.

A plan has values that are known only after apply. Read naively they are absent: `not planned(A, "tags.Owner", _)` would
deny a plan whose tag is merely not known yet, and `planned(A, "port", 22)` would pass one whose port may become 22.
So the users' rules are rewritten, once, into rules of the same language, which the same engine runs and explains:

- A predicate p that reads values (directly, or by way of others) keeps its name for what holds **however the unknown
  values turn out**. Its rules stay as they are, except that `not q` becomes `not could_q`, and an absent value must
  certainly be absent: no unknown path lies at or above its path. An aggregate holds only where no unknown could change
  what it ranges over (`doubt_N`).
- could_p is what holds **for some** outcome, and more: it over-approximates. Each literal that reads a value may be
  satisfied by an unknown one (`maybe`, see rules/policy/unknowns.dl) at its path. Variables that only the unknown value
  would bind are then lost, and every test, negation or computation that reads a lost variable is taken to hold. A lost
  variable in a head becomes the constant LOST, which later matches anything. `not q` asks that q does not certainly
  hold.

A verdict is certain if deny holds, and undecided if could_deny holds and deny does not. Both steps err to one side:
p holds in every outcome (if it says so), could_p in every outcome in which p would hold. Proof by the strata: a literal
of the sure rule implies the literal in every outcome, and a literal that holds in some outcome implies, after losing
variables, the literal of a could rule. What is not judged in three values is what the plan states about itself:
actions, reasons, unknown_after, sensitive_at. Not found: outcomes that deny one way or another whatever happens (`x`
and `not x`); those stay undecided, which is safe. And one liberty: elements of a set with unknown parts keep the
numbers that the plan gives them, although unknown elements may come to stand before them; only rules that name a number
see it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, count, islice, product
from typing import Any, TypeAlias

from attrs import frozen

from planner.datalog.engine.program import Program
from planner.datalog.front.checks import bound_names
from planner.datalog.front.literals import atoms, inner_variables, names, outer_names
from planner.datalog.front.model import Predicate, Rule
from planner.policy.broken import broken_rules
from planner.policy.values import VALUES
from planner.syntax.rule_syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Literal,
    Negation,
    Term,
    Test,
    Variable,
    Wildcard,
    quote,
)
from planner.vocabulary.diagnostic import Diagnostic, error

LOST = "(known after apply)"
"""stands in a column whose value is not known; text of a configuration that reads like this is taken for it, which errs
to the same side"""
VERDICTS = ("deny", "warn")
MOST_VARIANTS = 256
Choice: TypeAlias = tuple[Any, ...]
"""for one literal: plain, known, maybe, doubt, or could followed by the columns that are LOST"""


@frozen
class Modal:
    """The rewritten rules as the text of a rule file. `could` has the name of could_p for every p that reads values;
    `doubts` the names of doubt_N; `broken` the predicate (code, address, message) of what has no value, "" where
    everything has one."""

    text: str
    could: dict[str, str]
    doubts: tuple[str, ...]
    broken: str = ""

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The predicates that a verdict is made of."""
        return (
            *VERDICTS,
            *([self.broken] if self.broken else []),
            *(self.could[v] for v in VERDICTS if v in self.could),
        )


def rewrite(
    program: Program, only: Collection[str] | None = None, keys: int = 1
) -> tuple[Modal | None, list[Diagnostic]]:
    """The users' rules of a checked program in three values; no result when there are errors. `only`: of the rules for
    verdicts, those with these names. `keys`: how many columns before the path say whose value it is: 1, an address; in
    a fleet 2, a unit and an address."""
    rewriter = _Rewriter(program, only, keys)
    return rewriter.run(), rewriter.problems


def written_name(rule: str) -> str:
    """The name of the rule as it was written that a rewritten one belongs to."""
    return re.sub(r" \((could|broken) \d+\)$", "", rule)


def dependent(program: Program) -> set[str]:
    """The predicates that read values, directly or by way of others."""
    found: set[str] = set()
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            head = rule.head.predicate
            if head not in found and any(a.predicate in VALUES or a.predicate in found for a, _ in atoms(rule.body)):
                found.add(head)
                changed = True
    return found


class _Rewriter:
    def __init__(self, program: Program, only: Collection[str] | None, keys: int) -> None:
        self.program, self.only, self.keys = program, only, keys
        self.dependent = dependent(program)
        self.problems: list[Diagnostic] = []
        self.could = {p: self._free(f"could_{p}") for p in sorted(self.dependent)}
        self.lost_columns: dict[str, set[int]] = {p: set() for p in self.dependent}
        self.doubts: dict[str, int] = {}
        self.lines: list[str] = []
        self.numbers = count(1)
        self._doubted: dict[int, tuple[str, set[str]]] = {}
        self.broken = self._free("broken")
        self.verdicts = program.needed(VERDICTS)

    def _free(self, name: str) -> str:
        while name in self.program.predicates:
            name += "_"
        return name

    def run(self) -> Modal | None:
        rules = [rule for rule in self.program.rules if not rule.is_core]
        if self.only is not None:
            rules = [r for r in rules if r.head.predicate not in VERDICTS or r.name in self.only]
        for predicate in self.program.predicates.values():
            read = [name for name in predicate.inputs if name in self.dependent or name in VALUES]
            if read and not predicate.is_core:
                detail = f"{predicate.name} is computed from all of {read[0]}, which may have unknown values."
                self.problems.append(error("policy.native", "Operator over unknown values", detail, predicate.span))
        while True:  # until no head loses a further column
            before = {p: set(columns) for p, columns in self.lost_columns.items()}
            self.doubts, self.lines, self.numbers, self._doubted = {}, [], count(1), {}
            for rule in rules:
                self._rule(rule)
            if self.problems:
                return None
            if before == self.lost_columns:
                break
        declared = [*map(self._declaration, self._users()), *map(self._could_declaration, sorted(self.dependent))]
        declared += [
            f"/// {name}: unknown values could change an aggregate.\n"
            f".decl {name}({', '.join(f'c{i}: any' for i in range(arity))})\n.output {name}"
            for name, arity in self.doubts.items()
        ]
        broken = (
            self.broken if any(line.partition("\n")[2].startswith(f"{self.broken}(") for line in self.lines) else ""
        )
        if broken:
            declared.append(
                f"/// {broken}: a computation of a policy has no value.\n"
                f".decl {broken}(code: any, address: any, message: any)\n.output {broken}"
            )
        return Modal("\n".join([*declared, *self.lines]) + "\n", self.could, tuple(self.doubts), broken)

    # -------- declarations

    def _users(self) -> list[Predicate]:
        return [p for p in self.program.predicates.values() if not p.is_core]

    def _declaration(self, predicate: Predicate) -> str:
        columns = ", ".join(f"{c.name}: {c.type.base}" for c in predicate.columns)
        doc = "\n".join(f"/// {line}" for line in predicate.doc.splitlines())
        if predicate.operator is not None:
            return f"{doc}\n.native {predicate.name}({columns}) = {predicate.operator}({', '.join(predicate.inputs)})"
        directive = "input" if predicate.is_input else "output"
        return f"{doc}\n.decl {predicate.name}({columns})\n.{directive} {predicate.name}"

    def _could_declaration(self, name: str) -> str:
        predicate = self.program.predicates[name]
        width = 2 if name in VERDICTS else predicate.arity
        columns = ", ".join(f"{c.name}: any" for c in predicate.columns[:width])
        could = self.could[name]
        return f"/// {could}: {name} could come to hold.\n.decl {could}({columns})\n.output {could}"

    # -------- rules

    def _rule(self, rule: Rule) -> None:
        sure = [text for literal in rule.body for text in self._sure(rule, literal)]
        self._emit(rule.name, rule.reason, str(rule.head), sure)
        head = rule.head.predicate
        self._broken(rule)
        if head not in self.dependent:
            return
        variants = list(islice(self._variants(rule), MOST_VARIANTS + 1))
        if len(variants) > MOST_VARIANTS:
            detail = "Too many literals of this rule could be about unknown values. Split it into several rules."
            self.problems.append(error("policy.unknowns", "Rule with too many unknowns", detail, rule.span))
            return
        arguments = rule.head.arguments[:2] if head in VERDICTS else rule.head.arguments
        for i, variant in enumerate(dict.fromkeys(map(_Variant.key, variants)), 1):
            body, bound = variant
            shown = []
            for column, argument in enumerate(arguments):
                if names(argument) <= set(bound):
                    shown.append(str(argument))
                else:
                    shown.append(quote_lost())
                    self.lost_columns[head].add(column)
            text = f"{self.could[head]}({', '.join(shown)})"
            self._emit(f"{rule.name} (could {i})", _reason(rule.reason, set(bound)), text, list(body))

    def _broken(self, rule: Rule) -> None:
        """What of the rule may have no value (see broken.py)."""
        predicates = self.program.predicates
        if predicates[rule.head.predicate].number not in self.verdicts:
            return
        found = broken_rules(rule, predicates, lambda x: self._sure(rule, x), rule.head.predicate in VERDICTS)
        for i, (reason, head, body) in enumerate(found, 1):
            self._emit(f"{rule.name} (broken {i})", reason, f"{self.broken}({head})", body)

    def _emit(self, name: str, reason: str, head: str, body: Sequence[str]) -> None:
        tail = f" :- {', '.join(dict.fromkeys(body))}" if body else ""
        reason = f" @reason({quote(reason)})" if reason else ""
        self.lines.append(f"@name({quote(name)}){reason}\n{head}{tail}.")

    # -------- what certainly holds

    def _sure(self, rule: Rule, literal: Literal) -> Iterator[str]:
        if isinstance(literal, Negation):
            yield from self._surely_absent(literal)
            return
        yield str(literal)
        if isinstance(literal, Aggregate) and self._reads_values((literal,)):
            yield f"not {self._doubt(rule, literal)[0]}"

    def _surely_absent(self, literal: Negation) -> Iterator[str]:
        atom = literal.atom
        if atom.predicate in VALUES:
            yield str(literal)
            yield from self._uncovered(atom)
        elif atom.predicate in self.dependent:
            arguments = list(map(str, atom.arguments))
            could = self.could[atom.predicate]
            if atom.predicate in VERDICTS:
                yield f"not {could}({', '.join(arguments[:2])})"
                return
            for chosen in self._lost_sets(atom):
                shown = [quote_lost() if i in chosen else a for i, a in enumerate(arguments)]
                yield f"not {could}({', '.join(shown)})"
        else:
            yield str(literal)

    def _uncovered(self, atom: Atom) -> Iterator[str]:
        """That no unknown value lies at or above the path of an atom."""
        address, path = self.place(atom)
        if isinstance(path, Wildcard):
            yield f"not maybe({address}, _, _)"
            return
        number = next(self.numbers)
        yield f"Covering{number} = count : {{ maybe({address}, _, Begin{number}), {_begins(path, f'Begin{number}')} }}"
        yield f"Covering{number} = 0"

    def place(self, atom: Atom) -> tuple[str, Term]:
        """Of an atom about a value, the text of whose it is, and the path."""
        return ", ".join(map(str, atom.arguments[: self.keys])), atom.arguments[self.keys]

    def _reads_values(self, body: tuple[Literal, ...]) -> bool:
        return any(a.predicate in VALUES or a.predicate in self.dependent for a, _ in atoms(body))

    # -------- what could hold

    def _lost_sets(self, atom: Atom) -> list[tuple[int, ...]]:
        """The sets of columns of an atom that could be LOST together, beginning with none."""
        lost = self.lost_columns[atom.predicate]
        columns = [i for i in sorted(lost) if not isinstance(atom.arguments[i], Wildcard)]
        return [c for size in range(len(columns) + 1) for c in combinations(columns, size)]

    def _variants(self, rule: Rule) -> Iterator[_Variant]:
        """The ways in which the body of a rule could hold."""
        choices: list[list[Choice]] = []
        for literal in rule.body:
            if isinstance(literal, Atom) and literal.predicate in VALUES:
                choices.append([("known",), ("maybe",)])
            elif isinstance(literal, Atom) and literal.predicate in self.dependent:
                choices.append([("could", *columns) for columns in self._lost_sets(literal)])
            elif isinstance(literal, Aggregate) and self._reads_values((literal,)):
                choices.append([("known",), ("doubt",)])
            else:
                choices.append([("plain",)])
        for chosen in product(*choices):
            yield from _Body(self, rule, rule.body, chosen, outer_names(rule.head, rule.body)).variants()

    # -------- aggregates

    def _doubt(self, rule: Rule, literal: Aggregate) -> tuple[str, set[str]]:
        """The atom that says that unknown values could change an aggregate, and its variables. Its rules let one
        literal after the other be unknown and ask of the others only what does not read values."""
        if id(literal) in self._doubted:
            return self._doubted[id(literal)]
        outer = outer_names(rule.head, rule.body)
        shared = sorted({v.name for v in inner_variables(literal)} & outer)
        bodies: list[tuple[list[str], set[str]]] = []
        for unsure in literal.body:
            atom = unsure.atom if isinstance(unsure, Negation) else unsure
            if not isinstance(atom, Atom) or not self._reads_values((atom,)):
                continue
            others = tuple(x for x in literal.body if not self._reads_values((x,)))
            options: list[Choice] = [("maybe",)]
            if atom.predicate not in VALUES:
                options = [("could", *columns) for columns in self._lost_sets(atom)]
            for option in options:
                chosen = (option, *([("plain",)] * len(others)))
                for variant in _Body(self, rule, (atom, *others), chosen, outer).variants():
                    sure = [f"not {atom}"] if option == ("could",) and atom.predicate not in VERDICTS else []
                    bodies.append(([*variant.texts, *sure], variant.bound))
        kept = [name for name in shared if all(name in bound for _, bound in bodies)]
        name = self._free(f"doubt_{len(self.doubts) + 1}")
        self.doubts[name] = len(kept)
        head = f"{name}({', '.join(kept)})"
        for i, (texts, _) in enumerate(bodies, 1):
            self._emit(f"{rule.name} ({name} {i})", "unknown values could change what is counted", head, texts)
        self._doubted[id(literal)] = head, set(kept)
        return self._doubted[id(literal)]


class _Variant:
    """One way in which a body could hold: its literals as text, and the variables that have a value then."""

    __slots__ = ("bound", "texts")

    def __init__(self, texts: list[str], bound: set[str]) -> None:
        self.texts, self.bound = texts, bound

    def key(self) -> tuple[tuple[str, ...], frozenset[str]]:
        return tuple(dict.fromkeys(self.texts)), frozenset(self.bound)


class _Body:
    """The body of a rule with a choice for each literal: whether the value that it reads is known."""

    def __init__(
        self,
        rewriter: _Rewriter,
        rule: Rule,
        body: tuple[Literal, ...],
        chosen: tuple[Choice, ...],
        outer: set[str],
    ) -> None:
        self.rewriter, self.rule, self.outer = rewriter, rule, outer
        self.body, self.chosen = body, chosen

    def variants(self) -> Iterator[_Variant]:
        texts: list[str] = []
        given: set[str] = set()
        unsure: list[Atom] = []
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if not isinstance(literal, Atom):
                continue
            kept = list(map(str, literal.arguments))
            if choice[0] == "maybe":
                unsure.append(literal)
                given |= {name for key in literal.arguments[: self.rewriter.keys] for name in names(key)}
                continue
            if choice[0] == "could":
                lost = set(choice[1:])
                predicate = literal.predicate
                for i in sorted(self.rewriter.lost_columns[predicate]):
                    if i in lost:
                        kept[i] = quote_lost()
                    elif isinstance(literal.arguments[i], Variable):
                        texts.append(f"to_symbol({literal.arguments[i]}) != {quote_lost()}")
                width = 2 if predicate in VERDICTS else len(kept)
                texts.append(f"{self.rewriter.could[predicate]}({', '.join(kept[:width])})")
                given |= {n for i, a in enumerate(literal.arguments[:width]) if i not in lost for n in names(a)}
            else:
                texts.append(str(literal))
                given |= names(literal)
        yield from self._paths(texts, given, unsure, {})

    def _paths(
        self, texts: list[str], given: set[str], unsure: list[Atom], below: dict[str, str]
    ) -> Iterator[_Variant]:
        """Choose where the unknown values lie, for one literal after the other. `below` has, for lost variables that
        are paths, the text of a path that they begin with."""
        bound = self._closed(given)
        if not unsure:
            yield self._finished(texts, bound, below)
            return
        paths = {id(a): self.rewriter.place(a)[1] for a in unsure}
        known = [a for a in unsure if isinstance(paths[id(a)], Wildcard) or names(paths[id(a)]) <= bound]
        atom = (known or unsure)[0]
        rest = [a for a in unsure if a is not atom]
        address, path = self.rewriter.place(atom)
        if isinstance(path, Wildcard):
            yield from self._paths([*texts, f"maybe({address}, _, _)"], given, rest, below)
        elif known:
            number = next(self.rewriter.numbers)
            begin = f"Begin{number}"
            more = [f"maybe({address}, _, {begin})", _begins(path, begin)]
            inner = self._inner(atom)
            found = {**below, inner: str(path)} if inner and inner not in bound else below
            yield from self._paths([*texts, *more], given, rest, found)
        else:
            assert isinstance(path, Variable)
            exact = [*texts, f"maybe_exact({address}, {path})"]
            if atom.predicate in ("planned", "configured", "json_value", "json_part"):
                yield from self._paths(exact, given | {path.name}, rest, below)
            at = f"Open{next(self.rewriter.numbers)}"
            opened = [*texts, f"maybe_open({address}, {at})"]
            found = {**below, path.name: at}
            inner = self._inner(atom)
            if inner:
                found[inner] = at
            yield from self._paths(opened, given | {at}, rest, found)

    @staticmethod
    def _inner(atom: Atom) -> str | None:
        """The variable for the path of an element."""
        inner = atom.arguments[-1]
        return inner.name if atom.predicate == "part" and isinstance(inner, Variable) else None

    def _closed(self, given: set[str]) -> set[str]:
        """All variables that have a value once those in `given` have."""
        body: list[Literal] = []
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if isinstance(literal, Comparison) or (isinstance(literal, Aggregate) and choice[0] != "doubt"):
                body.append(literal)
        return bound_names(tuple(body), given, self.outer)

    def _finished(self, texts: list[str], bound: set[str], below: dict[str, str]) -> _Variant:
        texts = list(texts)
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if isinstance(literal, Atom):
                continue
            if isinstance(literal, Aggregate):
                needed = {v.name for v in inner_variables(literal)} & self.outer
                if choice[0] == "doubt":
                    doubt, used = self.rewriter._doubt(self.rule, literal)
                    if used <= bound:
                        texts.append(doubt)
                elif needed <= bound:
                    texts.append(str(literal))
                continue
            if isinstance(literal, Negation):
                if names(literal) <= bound:
                    texts.append(str(literal))
                continue
            if names(literal) <= bound:
                texts.append(str(literal))
            else:
                texts += _compatible(literal, bound, below)
        return _Variant(texts, bound)


def _begins(path: Term, begin: str) -> str:
    """The literal that says that a path lies at or below an unknown one."""
    if isinstance(path, Constant):
        return f"starts_with({quote(str(path.value) + '.')}, {begin})"
    return f'starts_with({path} ++ ".", {begin})'


_LITERAL = re.compile(r"\^((?:[\w.:/ -](?![*+?{])|\\[^\w](?![*+?{]))*)")


def _compatible(literal: Comparison | Test, bound: set[str], below: dict[str, str]) -> Iterable[str]:
    """What remains of a test of a lost path: the path that it lies below and the text that it has to begin with must
    not contradict each other."""
    if not isinstance(literal, Test) or literal.negated or literal.function not in ("starts_with", "matches"):
        return
    subject, pattern = literal.arguments
    if not isinstance(subject, Variable) or subject.name not in below or not isinstance(pattern, Constant):
        return
    text = str(pattern.value)
    if literal.function == "matches":
        found = _LITERAL.match(text)
        if found is None or "|" in text:
            return
        text = re.sub(r"\\(.)", r"\1", found[1])
    at = below[subject.name]
    if text:
        yield f"substring({at}, 0, {len(text)}) = substring({quote(text)}, 0, length({at}))"


def _reason(reason: str, bound: set[str]) -> str:
    """A reason with what is not known named as such."""
    return re.sub(r"\{(\w+)\}", lambda m: m[0] if m[1] in bound else "(known after apply)", reason)


def quote_lost() -> str:
    return quote(LOST)
