"""Compiles policy files to two programs: the rules as they are written, and the rules rewritten for three truth values
(see three_valued.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from functools import cached_property
from typing import Any

from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.library import library
from planner.answers.policy.packs import Packs, gather
from planner.answers.policy.planned_values import LINKS, VALUES
from planner.answers.policy.settings import PolicySettings, read_settings
from planner.answers.policy.three_valued import LOST, VERDICTS, Modal, rewrite
from planner.answers.policy.values_read import Interest
from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span, pickled_without_texts
from planner.language.syntax.rule_syntax import Atom, Constant, RuleFile, RuleVariable, Statement
from planner.logic.datalog.engine.cache import MADE_BY, parts, spaces_parts, unpickle
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Rule, atoms
from planner.logic.datalog.language.spaces import Spaces
from planner.logic.programs.rule_programs import Files, files_of, load

__all__ = ["LOST", "Files", "Policies", "load_policies"]


class Policies:
    """Checked policies. `program`: the rules as they are written. `modal_program`: the rewritten rules, in which the
    original predicates contain the certain results, and the predicates in `modal.could` contain the possible results.
    `given`: the facts of packs. `settings`: the content of policy.toml and waivers.toml. `closed`: the names of the
    organisation's files."""

    def __init__(
        self,
        files: Files,
        program: RuleProgram,
        modal: Modal,
        modal_program: RuleProgram,
        packs: Packs | None = None,
        given: FactBase | None = None,
        settings: PolicySettings | None = None,
        closed: frozenset[str] = frozenset(),
    ) -> None:
        self.files, self.program, self.modal, self.modal_program = files, program, modal, modal_program
        self.packs = packs if packs is not None else Packs()
        self.given = given if given is not None else FactBase({}, {})
        self.settings = settings if settings is not None else PolicySettings()
        self.closed = closed

    @property
    def could(self) -> dict[str, str]:
        """{"deny" or "warn": relation with its possible results}; empty if the policies do not read values."""
        return {name: self.modal.could[name] for name in VERDICTS if name in self.modal.could}

    @cached_property
    def reads(self) -> PolicyInputs:
        """The parts of a plan that the policies read."""
        program = self.modal_program
        needed = program.needed([*self.modal.verdicts, "judged"])
        product = dict(files_of("policy"))
        core = {p.name for p in program.predicates.values() if p.is_input and p.span.filename in product}
        names = frozenset(p.name for p in program.predicates.values() if p.number in needed and p.name in core)
        plain = self.program.needed([*VERDICTS, "judged"])
        heads = frozenset(p.name for p in self.program.predicates.values() if p.number in plain)
        return PolicyInputs(names, Interest(self.program, heads, self.given, self.packs.relations), self.given)


def readers(program: RuleProgram, untold: Set[str], facts: FactBase) -> dict[tuple[str, str], tuple[Rule, str]]:
    """{("deny" or "warn", code): (first rule, incomplete relation)} for the verdicts whose rules depend on an
    incomplete relation (`untold`), and that could hold if this relation had more rows. The name of the rule is used in
    place of a computed code."""
    rests = _rests(program, untold)
    result: dict[tuple[str, str], tuple[Rule, str]] = {}
    for rule in _live(program, untold, facts):
        if rule.head.predicate in VERDICTS:
            read = next((rests[atom.predicate] for atom, _ in atoms(rule.body) if atom.predicate in rests), None)
            if read is not None:
                code = rule.head.arguments[0]
                text = str(code.value) if isinstance(code, Constant) else rule.name
                result.setdefault((rule.head.predicate, text), (rule, read))
    return result


def guesses(program: RuleProgram, untold: Set[str]) -> frozenset[str]:
    """The names of the rules for verdicts that may be wrong because of incomplete relations (`untold`): they negate or
    count rows of these relations."""
    rests = _rests(program, untold)
    guessed: set[str] = set()
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            head = rule.head.predicate
            if head not in guessed and head not in VERDICTS and _guesses(rule, rests, guessed):
                guessed.add(head)
                changed = True
    rules = (rule for rule in program.rules if rule.head.predicate in VERDICTS)
    return frozenset(rule.name for rule in rules if _guesses(rule, rests, guessed))


def _live(program: RuleProgram, untold: Set[str], facts: FactBase) -> list[Rule]:
    """The rules that could hold if the incomplete relations had more rows. Relations about values and links may always
    have more rows, because some of their rows are unknown."""
    unsure = untold | VALUES | LINKS
    may = {
        name
        for name, predicate in program.predicates.items()
        if predicate.operator is not None or name in unsure or facts.relation(name)
    }
    live: set[int] = set()
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            if rule.number in live or any(isinstance(x, Atom) and x.predicate not in may for x in rule.body):
                continue
            live.add(rule.number)
            may.add(rule.head.predicate)
            changed = True
    return [rule for rule in program.rules if rule.number in live]


def _guesses(rule: Rule, rests: Mapping[str, str], guessed: set[str]) -> bool:
    for literal in rule.body:
        read = {atom.predicate for atom, _ in atoms((literal,))}
        if not isinstance(literal, Atom) and read & rests.keys():
            return True
        if read & guessed:
            return True
    return False


def _rests(program: RuleProgram, untold: Set[str]) -> dict[str, str]:
    """{relation: an incomplete relation on which it depends}. Verdicts are not included."""
    rests: dict[str, str] = {name: name for name in untold}
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            head = rule.head.predicate
            if head not in rests and head not in VERDICTS:
                read = next((rests[atom.predicate] for atom, _ in atoms(rule.body) if atom.predicate in rests), None)
                if read is not None:
                    rests[head] = read
                    changed = True
    return rests


def load_policies(
    files: Files, closed: frozenset[str] = frozenset(), workspace: str = "default"
) -> tuple[Policies | None, list[Diagnostic]]:
    """(policies, diagnostics) of policy files; the policies are None if there are errors. Only files in `closed` may
    add rules to predicates that files in `closed` declare. `workspace`: selects the settings. Raises Failure."""
    core = files_of("policy")
    try:
        packs = gather(files)
        settings = read_settings(files, closed, workspace, packs)
    except Failure as failure:
        return None, failure.diagnostics
    program, problems = load("policy", packs.rules, packs.made, packs.spaces)
    problems = [d for d in problems if d.subject is None or d.subject.filename not in dict(core)]
    if program is None:
        return None, problems
    foreign = [*foreign_rules(program, closed), *packs.missing(settings.parameters, program)]
    if foreign:
        return None, [*problems, *foreign]
    modal, more = rewritten(program, frozenset(dict(core)), packs.spaces)
    if modal is None:
        return None, [*problems, *more]
    modal_program, wrong = load("policy", made=[modal.file])
    if modal_program is None:
        raise Failure([d for d in wrong if d.is_error])
    given = packs.facts(settings.parameters, program)
    policies = Policies(files, program, modal, modal_program, packs, given, settings, closed)
    return policies, [*problems, *suspicions(program), *_of_no_policy(policies)]


def _of_no_policy(policies: Policies) -> Iterator[Diagnostic]:
    """Warnings about settings of levels for codes that no policy has. Levels in the organisation's files are not
    checked. There are no warnings if a rule computes its code."""
    uses = [use for config in policies.settings.configs if not config.is_organisation for use in config.policies]
    if not uses:
        return
    heads = [rule.head.arguments[0] for rule in policies.program.rules if rule.head.predicate in VERDICTS]
    if not all(isinstance(code, Constant) for code in heads):
        return
    known = {str(code.value) for code in heads if isinstance(code, Constant)} | policies.packs.policies.keys()
    known |= {entry.name for entry in library()} if any(one.code not in known for one in uses) else set()
    for one in uses:
        if one.code not in known:
            detail = f"No policy has the code {one.code}.{did_you_mean(one.code, known)}"
            yield warning("policy.unknown", "Unknown policy code", detail, one.span)


def foreign_rules(program: RuleProgram, closed: frozenset[str]) -> Iterator[Diagnostic]:
    """Errors for rules in other files that add to a relation which a file in `closed` declares."""
    for rule in program.rules:
        predicate = program.predicates[rule.head.predicate]
        if predicate.span.filename in closed and rule.span.filename not in closed:
            detail = f"{predicate.name} belongs to the organisation's policies ({predicate.span.filename})."
            yield error("policy.foreign_rule", "Rule for a relation reserved for the organisation", detail, rule.span)


# Valid rules that are probably mistakes: they can never have findings, so their policies always seem to pass


VERTEX = "node"
"""the type of columns with nodes of the plan graph; instances are not such nodes"""
_INSTANCE = "instance"


def suspicions(program: RuleProgram) -> Iterator[Diagnostic]:
    """Warnings about users' rules that cannot derive any row. The reason is a variable that is used both for a node of
    the graph and for an instance, or a relation that has no rows for an address."""
    for rule in program.rules:
        if not rule.is_core:
            yield from _vertices_as_instances(program, rule)
            yield from _without_rows(rule)


def _without_rows(rule: Rule) -> Iterator[Diagnostic]:
    for atom, _ in atoms(rule.body):
        address = atom.arguments[0] if atom.predicate in _OF_OBJECTS else None
        kind = str(address.value).partition(".")[0] if isinstance(address, Constant) else ""
        if kind in _NO_OBJECTS:
            instead = _NO_OBJECTS[kind].replace("{A}", str(address))
            detail = f"{atom.predicate} has rows only for objects and root outputs; {address} is neither: {instead}"
            span = Span(rule.span.source, atom.start, atom.end)
            yield warning("policy.no_rows", "No rows for this address", detail, span)


_OF_OBJECTS = frozenset(("planned", "prior", "size_of", "part", "json_value", "json_part"))
_NO_OBJECTS = {
    "var": 'the values of root variables are in configured({A}, "value", V).',
    "local": "policies do not see local values, but they see the arguments and outputs that use them.",
    "each": "policies see the instances, by their addresses.",
}


def _vertices_as_instances(program: RuleProgram, rule: Rule) -> Iterator[Diagnostic]:
    places: dict[str, dict[str, Atom]] = {}
    for atom, _ in atoms(rule.body):
        for column, term in zip(program.predicates[atom.predicate].columns, atom.arguments, strict=True):
            if isinstance(term, RuleVariable) and column.type.name in (VERTEX, _INSTANCE):
                places.setdefault(term.name, {}).setdefault(column.type.name, atom)
    for name, item in places.items():
        if len(item) == 2:
            vertex, instance = item[VERTEX], item[_INSTANCE]
            detail = (
                f"{name} is a vertex in {vertex.predicate}, but an instance in {instance.predicate}. In the "
                "graph that policies see, no vertex has the name of an instance, so the rule never derives anything. "
                "To get the vertex of an instance use node(N, _, Object), instance_of(A, Object)."
            )
            span = Span(rule.span.source, vertex.start, vertex.end)
            yield warning("policy.no_vertices", "Not vertex names", detail, span)


# Rewritten policies in the user's cache: rewriting a library takes much longer than reading the result


MODALS = Shelf("modals", 20, made_by=(*MADE_BY, "answers/policy"))
"""one entry for each version of the policies"""


class KeptFile(RuleFile):
    """A rule file whose statements are read only when they are first used. They are rarely used, because the compiled
    program is usually cached, too."""

    __slots__ = ("_load", "_statements")

    def __init__(self, source: Source, load: Callable[[], list[Statement]], is_whole: bool) -> None:
        self.source, self.is_whole = source, is_whole
        self._load = load
        self._statements: list[Statement] | None = None

    @property
    def statements(self) -> list[Statement]:  # type: ignore[override]
        if self._statements is None:
            self._statements = self._load()
        return self._statements


def rewritten(program: RuleProgram, core: frozenset[str], spaces: Spaces) -> tuple[Modal | None, list[Diagnostic]]:
    """(the user's rules, rewritten for three-valued evaluation, problems); the rules are None if there are errors. See
    `rewrite` of three_valued.py. `core`: the names of the product's files. `spaces`: the namespaces of files."""
    name = MODALS.name(*parts(program.files, core), *spaces_parts(spaces))
    known = _read(name, program)
    if known is not None:
        return known, []
    modal, problems = rewrite(program)
    if modal is not None and not problems:
        file = modal.file
        model = (file.source.filename, file.source.text, file.is_whole, modal.could, modal.doubts, modal.broken)
        MODALS.keep(name, (model, pickled_without_texts(file.statements)))
    return modal, problems


def _read(name: str, program: RuleProgram) -> Modal | None:
    known: Any = MODALS.value(name)
    if known is None:
        return None
    try:
        (filename, text, is_whole, could, doubts, broken), statements = known
    except (TypeError, ValueError):  # another version of planner wrote the entry
        return None
    source = Source(filename, text)

    def load() -> list[Statement]:
        sources = {file: Source(file, text) for file, text in program.files}
        results: list[Statement] = unpickle(statements, {**sources, filename: source})
        return results

    return Modal(KeptFile(source, load, is_whole), could, doubts, broken)
