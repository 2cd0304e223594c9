"""Rewrites policies for three truth values, to distinguish conclusions that certainly hold from conclusions that could
hold when unknown values become known. A plan contains values that are known only after apply. For the rules as they are
written, these values are missing: `not planned(A, "tags.Owner", _)` would deny a plan whose tag is only not known yet,
and `planned(A, "port", 22)` would pass a plan whose port may become 22. Therefore the users' rules are rewritten once,
into rules of the same language, which the same engine evaluates and explains:

- A predicate p that reads values (directly or through other predicates) keeps its name and contains the rows that hold
  **whatever the unknown values turn out to be**. Its rules are unchanged, with three exceptions: `not q` becomes `not
  could_q`. A missing value must certainly be missing: no unknown value is at or above its path. An aggregate holds only
  if no unknown value could change the rows over which it is computed (`doubt_N`).
- could_p contains the rows that hold for **some combination** of the unknown values, and perhaps more rows. Each
  literal that reads a value may be satisfied by an unknown value at its path (`maybe`, see rules/policy/unknowns.dl).
  Variables that only the unknown value would bind are then lost. Every test, negation or computation that reads a lost
  variable is assumed to hold. A lost variable in a head becomes the constant LOST, which matches any value when the row
  is read. `not q` requires that q does not certainly hold.

A verdict is certain if deny holds, and undecided if could_deny holds and deny does not. Both approximations are safe:
if p is derived, p holds for all unknown values, and if p holds for some unknown values, could_p is derived. This can be
proved stratum by stratum: if a literal of a certain rule holds, the original literal holds for all unknown values; and
if the original literal holds for some unknown values, the literal of a could rule holds with lost variables. Relations
about the plan itself (actions, reasons, unknown_after, sensitive_at) are two-valued. A verdict that holds for all
unknown values, but for different reasons (`x` or `not x`), is undecided here; case_analysis.py decides it. There is one
simplification: the elements of a set with unknown parts keep their indexes in the plan, although unknown elements may
later come before them. This affects only rules that name an index.

A rule with n literals about values has 2^n ways to hold. So a rule with many such literals is first split into a chain
of rules. Each rule of the chain reads only a few values, and passes on the variables that the later rules need."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import count, islice, product
from typing import Any, TypeAlias

from planner.answers.policy.model import Kind
from planner.answers.policy.planned_values import AT_PATHS, END, LINKS, REACHED, THROUGH, VALUES, relation_name
from planner.answers.policy.undefined_values import broken_rules
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.syntax import rule_syntax as syntax
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.checks import bound_names
from planner.logic.datalog.language.constructed import (
    MadeFile,
    absent,
    anything,
    atom,
    call,
    compared,
    concatenation,
    constant,
    count_of,
    holds,
    variable,
)
from planner.logic.datalog.language.model import Predicate, Rule, atoms, inner_names, names, outer_names
from planner.logic.datalog.language.order import join_order

LOST = "(known after apply)"
"""the string that replaces an unknown value in a column; if a configuration contains the same string, the string is
treated as unknown, which is safe"""
FILE = "policies"
"""the name of the file with the rewritten rules"""
VERDICTS: tuple[Kind, ...] = ("deny", "warn")
MOST_VARIANTS = 256
"""maximum number of variants of a rule; a rule with more variants is split first"""
MOST_READ = 3
"""maximum number of literals about values in each part of a rule that is split"""
Choice: TypeAlias = tuple[Any, ...]
"""the way in which a literal is rewritten in a variant of a rule: plain, known, maybe, linked, doubt, or could followed
by the indexes of the LOST columns"""


@frozen
class Modal:
    """The rewritten rules. `could`: {p: could_p} for each predicate p that reads values. `doubts`: the names of the
    predicates doubt_N. `broken`: the name of the predicate (code, address, message) about computations without a value;
    "" if there are none."""

    file: syntax.RuleFile
    could: dict[str, str]
    doubts: tuple[str, ...]
    broken: str = ""

    @property
    def verdicts(self) -> tuple[str, ...]:
        return (
            *VERDICTS,
            *([self.broken] if self.broken else []),
            *(self.could[v] for v in VERDICTS if v in self.could),
        )


def rewrite(
    program: RuleProgram, only: Collection[str] | None = None, keys: int = 1
) -> tuple[Modal | None, list[Diagnostic]]:
    """(rewritten rules, diagnostics) for the user's rules in a checked program. The rules are None if there are errors.
    `only`: the names of the rules for verdicts that are rewritten (None: all). `keys`: the number of columns before the
    path: 1 (the address) or, for a fleet, 2 (the unit and the address)."""
    rewriter = _Rewriter(program, only, keys)
    return rewriter.run(), rewriter.problems


def written_name(rule: str) -> str:
    """The original name of a rewritten rule."""
    return re.sub(r" \((could|broken) \d+\)$", "", rule)


def links(program: RuleProgram) -> frozenset[str]:
    """The relations in LINKS that the product's files declare in the program."""
    return frozenset(name for name in LINKS if name in program.predicates and program.predicates[name].is_core)


def dependent(program: RuleProgram) -> set[str]:
    """The predicates that read values or links, directly or through others."""
    readers: set[str] = set()
    read = VALUES | links(program)
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            head = rule.head.predicate
            if head not in readers and any(a.predicate in read or a.predicate in readers for a, _ in atoms(rule.body)):
                readers.add(head)
                changed = True
    return readers


class _Rewriter:
    def __init__(self, program: RuleProgram, only: Collection[str] | None, keys: int) -> None:
        self.program, self.only, self.keys = program, only, keys
        self.maybe = relation_name("maybe", keys)
        self.dependent = dependent(program)
        self.links = links(program)
        self.problems: list[Diagnostic] = []
        self.could = {p: self._free(f"could_{p}") for p in sorted(self.dependent)}
        self.lost: dict[str, set[tuple[int, ...]]] = {p: set() for p in self.dependent}
        """{predicate p: the sets of columns that are LOST together in rows of could_p}"""
        self.grain: dict[int, int] = {}
        """{rule with too many variants: number of literals about values in each part}"""
        self.doubts: dict[str, int] = {}
        self.rules: list[tuple[str, str, syntax.Atom, Sequence[syntax.Literal]]] = []
        """(name, reason, head, body) of new rules"""
        self.numbers = count(1)
        self._doubted: dict[int, tuple[syntax.Atom, set[str]]] = {}
        self.broken = self._free("broken")
        self.parts: dict[str, int] = {}
        """{relation between parts of a split rule: arity}; only rules for possible rows are split"""
        self._taken_apart: dict[int, list[Rule]] = {}
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
                self.problems.append(error("policy.native", "Operator on unknown values", detail, predicate.span))
        while True:  # until no head loses a further column
            before = {p: set(lost) for p, lost in self.lost.items()}
            grain = dict(self.grain)
            self.doubts, self.rules, self.numbers, self._doubted = {}, [], count(1), {}
            for rule in rules:
                self._rule(rule)
            if self.problems:
                return None
            if before == self.lost and grain == self.grain:
                break
        file = MadeFile(FILE)
        for predicate in self._users():
            columns = [(c.name, c.type.base) for c in predicate.columns]
            kind = "input" if predicate.is_input else "output"
            file.declare(predicate.name, columns, predicate.doc, kind, predicate.operator or "", predicate.inputs)
        for name, arity in self.parts.items():
            columns = [(f"c{i}", "any") for i in range(arity)]
            file.declare(
                name, columns, f"{name}: the first conditions of a rule could hold, depending on unknown values."
            )
        for name in sorted(self.dependent - self.parts.keys()):
            columns = [(c.name, "any") for c in self.program.predicates[name].columns]
            could = self.could[name]
            file.declare(could, columns[:2] if name in VERDICTS else columns, f"{could}: {name} could become true.")
        for name, arity in self.doubts.items():
            columns = [(f"c{i}", "any") for i in range(arity)]
            file.declare(name, columns, f"{name}: unknown values could change the result of an aggregate.")
        broken = self.broken if any(head.predicate == self.broken for _, _, head, _ in self.rules) else ""
        if broken:
            columns = [("code", "any"), ("address", "any"), ("message", "any")]
            file.declare(broken, columns, f"{broken}: a computation in a policy fails.")
        for made in self.rules:
            file.rule(*made)
        return Modal(file.file(), self.could, tuple(self.doubts), broken)

    def _users(self) -> list[Predicate]:
        return [p for p in self.program.predicates.values() if not p.is_core]

    # -------- rules

    def _rule(self, rule: Rule) -> None:
        sure = [part for literal in rule.body for part in self._sure(rule, literal)]
        self.rules.append((rule.name, rule.reason, rule.head, sure))
        head = rule.head.predicate
        self._find_flaws(rule)
        if head not in self.dependent:
            return
        for part in self._parts(rule):
            if not self._could_rule(part):
                return

    def _could_rule(self, rule: Rule) -> bool:
        """Add the rewritten rules for the possible results of a rule. Returns False if the rule has too many variants
        and is split further in the next round. If it cannot be split further, an error is added to `problems`."""
        head = rule.head.predicate
        variants = list(islice(self._variants(rule), MOST_VARIANTS + 1))
        if len(variants) > MOST_VARIANTS:
            if self._grind(rule):
                return False
            detail = "Too many columns of relations in this rule could be unknown. Split it into several rules."
            self.problems.append(error("policy.unknowns", "Too many unknown values in a rule", detail, rule.span))
            return True
        arguments = rule.head.arguments[:2] if head in VERDICTS else rule.head.arguments
        unlike: dict[Any, _Variant] = {}
        for variant in variants:
            unlike.setdefault(variant.key(), variant)
        for i, variant in enumerate(unlike.values(), 1):
            lost = tuple(i for i, argument in enumerate(arguments) if not names(argument) <= variant.bound)
            shown = [_lost_constant() if i in lost else argument for i, argument in enumerate(arguments)]
            self.lost[head].add(lost)
            reason = _reason(rule.reason, variant.bound)
            self.rules.append((f"{rule.name} (could {i})", reason, atom(self.could[head], *shown), variant.body))
        return True

    # -------- large rules

    def _parts(self, rule: Rule) -> list[Rule]:
        """The rule itself or, if it has many literals about values, an equivalent chain of rules. Each rule of the
        chain reads only a few values, and passes on the variables that the later rules need."""
        if rule.number not in self._taken_apart:
            chunks = self._chunks(rule)
            self._taken_apart[rule.number] = [rule] if len(chunks) == 1 else list(self._chain(rule, chunks))
        return self._taken_apart[rule.number]

    def _grind(self, rule: Rule) -> bool:
        """Split a rule into smaller parts from the next round on. Returns False if the rule cannot be split further."""
        grain = self.grain.get(rule.number, MOST_READ + 1) - 1
        if not grain:
            return False
        self.grain[rule.number] = grain
        for part in self._taken_apart.pop(rule.number):
            name = part.head.predicate
            if self.parts.pop(name, None) is not None:
                self.dependent.remove(name)
                del self.could[name]
                self.lost.pop(name)
        return True

    def _chunks(self, rule: Rule) -> list[list[syntax.Literal]]:
        """The body of a rule, in the order of evaluation, divided into pieces that each contain only a few literals
        about values. A body that would have only two pieces is not divided, unless the rule has too many variants."""
        most = self.grain.get(rule.number, MOST_READ)
        chunks: list[list[syntax.Literal]] = [[]]
        read = 0
        for literal in join_order(rule.body, (), outer_names(rule.head, rule.body)):
            weight = isinstance(literal, syntax.Atom | syntax.Aggregate) and self._reads_values((literal,))
            if weight and read == most:
                chunks.append([])
                read = 0
            read += weight
            chunks[-1].append(literal)
        return chunks if len(chunks) > 2 or rule.number in self.grain else [list(rule.body)]

    def _chain(self, rule: Rule, chunks: list[list[syntax.Literal]]) -> Iterator[Rule]:
        head = rule.head.arguments[:2] if rule.head.predicate in VERDICTS else rule.head.arguments
        outer = outer_names(rule.head, rule.body)
        wanted = [names(*head)]
        for chunk in reversed(chunks[1:]):
            wanted.append(wanted[-1] | names(*chunk))
        bound: set[str] = set()
        before: tuple[syntax.Literal, ...] = ()
        for number, (chunk, needed) in enumerate(zip(chunks, reversed(wanted), strict=True), 1):
            body = (*before, *chunk)
            if number == len(chunks):
                yield evolve(rule, body=body)
                return
            bound = bound_names(body, bound, outer)
            passed = sorted(bound & needed)
            name = self._free(f"could_part_{rule.number}_{number}")
            while name in self.could.values():
                name += "_"
            self.parts[name] = len(passed)
            self.dependent.add(name)
            self.could[name], self.lost[name] = name, set()
            link = syntax.Atom(name, tuple(map(variable, passed)), 0, 0)
            yield evolve(rule, name=f"{rule.name} (part {number})", head=link, body=body, reason="")
            before = (link,)

    def _find_flaws(self, rule: Rule) -> None:
        """If verdicts depend on a rule, add rules for `broken` about its computations that may have no value (see
        planner.answers.policy.undefined_values)."""
        predicates = self.program.predicates
        if predicates[rule.head.predicate].number not in self.verdicts:
            return
        made = broken_rules(rule, predicates, lambda x: self._sure(rule, x), rule.head.predicate in VERDICTS)
        for i, (reason, head, body) in enumerate(made, 1):
            self.rules.append((f"{rule.name} (broken {i})", reason, atom(self.broken, *head), body))

    # -------- certain results

    def _sure(self, rule: Rule, literal: syntax.Literal) -> Iterator[syntax.Literal]:
        if isinstance(literal, syntax.Negation):
            yield from self._surely_absent(literal)
            return
        yield literal
        if isinstance(literal, syntax.Aggregate) and self._reads_values((literal,)):
            yield absent(self._doubt(rule, literal)[0])

    def _surely_absent(self, literal: syntax.Negation) -> Iterator[syntax.Literal]:
        read = literal.atom
        if read.predicate in VALUES:
            yield literal
            yield from self._uncovered(read)
        elif read.predicate in self.links:
            yield literal
            linked = f"Linked{next(self.numbers)}"
            yield count_of(linked, self.linked(read))
            yield compared(variable(linked), "=", constant(0))
        elif read.predicate in self.dependent:
            could = self.could[read.predicate]
            if read.predicate in VERDICTS:
                yield absent(atom(could, *read.arguments[:2]))
                return
            for chosen in self._lost_sets(read):
                shown = [_lost_constant() if i in chosen else a for i, a in enumerate(read.arguments)]
                yield absent(atom(could, *shown))
        else:
            yield literal

    def _uncovered(self, read: syntax.Atom) -> Iterator[syntax.Literal]:
        """The condition that no unknown value is at or above the path of an atom."""
        address, path = self.place(read)
        if isinstance(path, syntax.Wildcard):
            yield absent(atom(self.maybe, *address, anything(), anything()))
            return
        number = next(self.numbers)
        begin, covering = variable(f"Begin{number}"), f"Covering{number}"
        yield count_of(covering, (atom(self.maybe, *address, anything(), begin), _begins(path, begin)))
        yield compared(variable(covering), "=", constant(0))

    def place(self, read: syntax.Atom) -> tuple[tuple[syntax.Term, ...], syntax.Term]:
        """(owner, path) in an atom about a value."""
        return read.arguments[: self.keys], read.arguments[self.keys]

    def linked(self, read: syntax.Atom) -> tuple[syntax.Atom, syntax.Atom]:
        """The two atoms that hold for a link that is possible, but not certain."""
        number = next(self.numbers)
        group = variable(f"Group{number}")
        about, other = read.arguments
        return atom(THROUGH, about, anything(), group), atom(REACHED, group, other)

    def _reads_values(self, body: tuple[syntax.Literal, ...]) -> bool:
        read = VALUES | self.links
        return any(a.predicate in read or a.predicate in self.dependent for a, _ in atoms(body))

    # -------- possible results

    def _lost_sets(self, atom: syntax.Atom) -> list[tuple[int, ...]]:
        """The sets of indexes of columns of an atom that could be LOST together, the empty set first."""
        asked = {i for i, argument in enumerate(atom.arguments) if not isinstance(argument, syntax.Wildcard)}
        items = {tuple(i for i in lost if i in asked) for lost in self.lost[atom.predicate]}
        return sorted({(), *items}, key=lambda lost: (len(lost), lost))

    def _variants(self, rule: Rule) -> Iterator[_Variant]:
        """The ways in which the body of a rule could hold, as variants."""
        choices: list[list[Choice]] = []
        for literal in rule.body:
            if isinstance(literal, syntax.Atom) and literal.predicate in VALUES:
                choices.append([("known",), ("maybe",)])
            elif isinstance(literal, syntax.Atom) and literal.predicate in self.links:
                choices.append([("known",), ("linked",)])
            elif isinstance(literal, syntax.Atom) and literal.predicate in self.dependent:
                choices.append([("could", *columns) for columns in self._lost_sets(literal)])
            elif isinstance(literal, syntax.Aggregate) and self._reads_values((literal,)):
                choices.append([("known",), ("doubt",)])
            else:
                choices.append([("plain",)])
        for chosen in product(*choices):
            yield from _Body(self, rule, rule.body, chosen, outer_names(rule.head, rule.body)).variants()

    # -------- aggregates

    def _doubt(self, rule: Rule, literal: syntax.Aggregate) -> tuple[syntax.Atom, set[str]]:
        """(atom that holds if unknown values could change an aggregate, variables of this atom). Each rule for the atom
        contains one literal of the aggregate that reads an unknown value, and all literals of the aggregate that do not
        read values."""
        if id(literal) in self._doubted:
            return self._doubted[id(literal)]
        outer = outer_names(rule.head, rule.body)
        shared = sorted(inner_names(literal) & outer)
        bodies: list[tuple[list[syntax.Literal], set[str]]] = []
        for unsure in literal.body:
            read = unsure.atom if isinstance(unsure, syntax.Negation) else unsure
            if not isinstance(read, syntax.Atom) or not self._reads_values((read,)):
                continue
            read = self._named_columns(read)
            others = tuple(x for x in literal.body if not self._reads_values((x,)))
            options: list[Choice] = [("maybe",)]
            if read.predicate in self.links:
                options = [("linked",)]
            elif read.predicate not in VALUES:
                options = [("could", *columns) for columns in self._lost_sets(read)]
            for option in options:
                chosen = (option, *([("plain",)] * len(others)))
                for variant in _Body(self, rule, (read, *others), chosen, outer).variants():
                    is_row = option in (("could",), ("linked",)) and read.predicate not in VERDICTS
                    sure = [absent(read)] if is_row else []
                    bodies.append(([*variant.body, *sure], variant.bound))
        kept = [name for name in shared if all(name in bound for _, bound in bodies)]
        name = self._free(f"doubt_{len(self.doubts) + 1}")
        self.doubts[name] = len(kept)
        head = atom(name, *map(variable, kept))
        for i, (body, _) in enumerate(bodies, 1):
            self.rules.append((f"{rule.name} ({name} {i})", "unknown values could change what is counted", head, body))
        self._doubted[id(literal)] = head, set(kept)
        return self._doubted[id(literal)]

    def _named_columns(self, read: syntax.Atom) -> syntax.Atom:
        """The atom with variables instead of wildcards, so that each single row can be certain or uncertain. An atom
        about a value is returned unchanged."""
        if read.predicate in VALUES:
            return read
        terms = [variable(f"Any{next(self.numbers)}") if isinstance(a, syntax.Wildcard) else a for a in read.arguments]
        return syntax.Atom(read.predicate, tuple(terms), read.start, read.end)


class _Variant:
    """One way in which a body could hold: the literals of this way, and the variables that get values."""

    __slots__ = ("body", "bound")

    def __init__(self, body: list[syntax.Literal], bound: set[str]) -> None:
        self.body, self.bound = body, bound

    def key(self) -> tuple[tuple[str, ...], frozenset[str]]:
        return tuple(dict.fromkeys(map(str, self.body))), frozenset(self.bound)


class _Body:
    """The body of a rule, with the way in which each literal is rewritten."""

    def __init__(
        self,
        rewriter: _Rewriter,
        rule: Rule,
        body: tuple[syntax.Literal, ...],
        chosen: tuple[Choice, ...],
        outer: set[str],
    ) -> None:
        self.rewriter, self.rule, self.outer = rewriter, rule, outer
        self.body, self.chosen = body, chosen

    def variants(self) -> Iterator[_Variant]:
        parts: list[syntax.Literal] = []
        given: set[str] = set()
        unsure: list[syntax.Atom] = []
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if not isinstance(literal, syntax.Atom):
                continue
            if choice[0] == "maybe":
                unsure.append(literal)
                given |= names(*literal.arguments[: self.rewriter.keys])
                continue
            if choice[0] == "linked":
                parts += self.rewriter.linked(literal)
                given |= names(literal)
                continue
            if choice[0] == "could":
                kept = list(literal.arguments)
                lost = set(choice[1:])
                predicate = literal.predicate
                for i in sorted({i for columns in self.rewriter.lost[predicate] for i in columns}):
                    argument = literal.arguments[i]
                    if i in lost:
                        kept[i] = _lost_constant()
                    elif isinstance(argument, syntax.RuleVariable):
                        parts.append(compared(call("to_symbol", argument), "!=", _lost_constant()))
                width = 2 if predicate in VERDICTS else len(kept)
                parts.append(atom(self.rewriter.could[predicate], *kept[:width]))
                given |= names(*(a for i, a in enumerate(literal.arguments[:width]) if i not in lost))
            else:
                parts.append(literal)
                given |= names(literal)
        yield from self._paths(parts, given, unsure, {})

    def _paths(
        self, parts: list[syntax.Literal], given: set[str], unsure: list[syntax.Atom], below: dict[str, syntax.Term]
    ) -> Iterator[_Variant]:
        """The variants in which an unknown value satisfies each literal in `unsure`. `below`: {variable of a path that
        is lost: known beginning of the path}."""
        bound = self._closed(given)
        if not unsure:
            yield self._finished(parts, bound, below)
            return
        paths = {id(a): self.rewriter.place(a)[1] for a in unsure}
        known = [a for a in unsure if isinstance(paths[id(a)], syntax.Wildcard) or names(paths[id(a)]) <= bound]
        read = (known or unsure)[0]
        rest = [a for a in unsure if a is not read]
        address, path = self.rewriter.place(read)
        inner = self._inner(read)
        maybe = self.rewriter.maybe
        if isinstance(path, syntax.Wildcard):
            yield from self._paths([*parts, atom(maybe, *address, anything(), anything())], given, rest, below)
        elif known:
            begin = variable(f"Begin{next(self.rewriter.numbers)}")
            more: list[syntax.Literal] = [atom(maybe, *address, anything(), begin), _begins(path, begin)]
            begun = {**below, inner: path} if inner and inner not in bound else below
            yield from self._paths([*parts, *more], given, rest, begun)
        else:
            assert isinstance(path, syntax.RuleVariable)
            start = self._beginning(path, below)
            if read.predicate in AT_PATHS or read.predicate in ("json_value", "json_part"):
                exact = [*parts, atom(f"{maybe}_exact", *address, path)]
                if start is not None:
                    exact.append(holds("starts_with", path, start))
                yield from self._paths(exact, given | {path.name}, rest, below)
            at = variable(f"Open{next(self.rewriter.numbers)}")
            opened = [*parts, atom(f"{maybe}_open", *address, at)]
            if start is not None:
                opened.append(_agree(at, start))
            begun = {**below, path.name: at, **({inner: at} if inner else {})}
            yield from self._paths(opened, given | {at.name}, rest, begun)

    def _beginning(self, path: syntax.RuleVariable, below: dict[str, syntax.Term]) -> syntax.Term | None:
        """The known beginning of a lost path: the known path above it, directly or through another lost path from which
        it is composed. None if there is no known beginning."""
        seen = {path.name}
        name = path.name
        while name not in below:
            made = next((item for item in map(_made_of(name), self.body) if item is not None), None)
            if made is None or made in seen:
                return None
            seen.add(made)
            name = made
        return below[name]

    @staticmethod
    def _inner(read: syntax.Atom) -> str | None:
        """The variable in the column with the path of an element, in an atom of `part`; None for all other atoms."""
        inner = read.arguments[-1]
        return inner.name if read.predicate == "part" and isinstance(inner, syntax.RuleVariable) else None

    def _closed(self, given: set[str]) -> set[str]:
        """All variables that get values if the variables in `given` have values."""
        body: list[syntax.Literal] = []
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if isinstance(literal, syntax.Comparison | syntax.Builtin) or (
                isinstance(literal, syntax.Aggregate) and choice[0] != "doubt"
            ):
                body.append(literal)
        return bound_names(tuple(body), given, self.outer)

    def _finished(self, parts: list[syntax.Literal], bound: set[str], below: dict[str, syntax.Term]) -> _Variant:
        parts = list(parts)
        for literal, choice in zip(self.body, self.chosen, strict=True):
            if isinstance(literal, syntax.Atom):
                continue
            if isinstance(literal, syntax.Aggregate):
                needed = inner_names(literal) & self.outer
                if choice[0] == "doubt":
                    doubt, used = self.rewriter._doubt(self.rule, literal)
                    if used <= bound:
                        parts.append(doubt)
                elif needed <= bound:
                    parts.append(literal)
            elif names(literal) <= bound:
                parts.append(literal)
            elif isinstance(literal, syntax.Comparison | syntax.Test):
                parts += _compatible(literal, bound, below)
        return _Variant(parts, bound)


def _made_of(name: str) -> Callable[[syntax.Literal], str | None]:
    """A function of a literal. If the literal composes the value of the variable `name`, the function returns the
    variable with whose value the string begins: I for `P = I ++ ".x"`. It returns None for all other literals."""

    def first(literal: syntax.Literal) -> str | None:
        if not isinstance(literal, syntax.Comparison) or literal.operator != "=":
            return None
        for target, term in literal.sides:
            if isinstance(target, syntax.RuleVariable) and target.name == name:
                begin = _first_of(term)
                if isinstance(begin, syntax.RuleVariable) and begin.name != name:
                    return begin.name
        return None

    return first


def _first_of(term: syntax.Term) -> syntax.Term:
    """The first operand of a concatenation."""
    while isinstance(term, syntax.RuleCall) and term.function == "++":
        term = term.arguments[0]
    return term


def _agree(one: syntax.Term, other: syntax.Term) -> syntax.Comparison:
    """The condition that one of the two strings begins with the other."""
    nothing = constant(0)
    least = call("substring", one, nothing, call("length", other))
    return compared(least, "=", call("substring", other, nothing, call("length", one)))


def _begins(path: syntax.Term, begin: syntax.Term) -> syntax.Test:
    """The condition that a path is at or below an unknown path."""
    if isinstance(path, syntax.Constant):
        return holds("starts_with", constant(f"{path.value}{END}"), begin)
    return holds("starts_with", concatenation(path, constant(END)), begin)


_LITERAL = re.compile(r"\^((?:[\w.:/ -](?![*+?{])|\\[^\w](?![*+?{]))*)")


def _compatible(
    literal: syntax.Comparison | syntax.Test, bound: set[str], below: dict[str, syntax.Term]
) -> Iterable[syntax.Literal]:
    """The condition that remains of a test of a path that is lost. For `starts_with`, and for `matches` with a literal
    beginning, the known beginning of the path must begin with the required text, or the required text must begin with
    it. For other tests, no condition remains."""
    if not isinstance(literal, syntax.Test) or literal.negated or literal.function not in ("starts_with", "matches"):
        return
    subject, pattern = literal.arguments
    if (
        not isinstance(subject, syntax.RuleVariable)
        or subject.name not in below
        or not isinstance(pattern, syntax.Constant)
    ):
        return
    text = str(pattern.value)
    if literal.function == "matches":
        match = _LITERAL.match(text)
        if match is None or "|" in text:
            return
        text = re.sub(r"\\(.)", r"\1", match[1])
    at = below[subject.name]
    if text:
        least = call("substring", at, constant(0), constant(len(text)))
        yield compared(least, "=", call("substring", constant(text), constant(0), call("length", at)))


def _reason(reason: str, bound: set[str]) -> str:
    """The reason of a rule, with "(known after apply)" instead of the variables without values."""
    return re.sub(r"\{(\w+)\}", lambda m: m[0] if m[1] in bound else "(known after apply)", reason)


def _lost_constant() -> syntax.Constant:
    return constant(LOST)
