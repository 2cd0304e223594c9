"""Checks a large plan in chunks, in several processes. This is done only if each finding about an object depends only
on that object. Then the result is the same as for the whole plan, but the check needs less memory and time. If a chunk
has an unusual form, the whole plan is checked instead. The check of the whole plan also reports problems of the
form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from planner.answers.policy.bounded_cost import is_tame
from planner.answers.policy.from_json.document import Document, Misshapen
from planner.answers.policy.from_json.excerpt import Excerpt
from planner.answers.policy.from_json.facts import OF_THE_REST, piece_facts
from planner.answers.policy.judge import Judging, PolicyFindings
from planner.answers.policy.library import own_files
from planner.answers.policy.model import ALL_STEPS, Finding
from planner.answers.policy.planned_values import MAYBE
from planner.answers.policy.program import Policies
from planner.answers.policy.three_valued import VERDICTS, written_name
from planner.answers.policy.values_read import Interest, Kind
from planner.foundation.support.exact_json import JsonError
from planner.foundation.support.forks import shared_out
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import Atom, Term
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.model import Predicate, Rule, atoms, name_of

LEAST_SHARE = 2 << 20
"""minimum number of bytes of changes for each process"""
SIZE = 1 << 18
"""bytes of changes in a chunk"""
RULES_OF_A_PIECE = 600
"""chunks have SIZE bytes if there are at most this number of rules and of facts outside the plan. If there are n times
as many rules and facts, chunks are n times as large, because all rules and facts are read for each chunk."""
MOST_SUSPECTS = 1000
"""number of objects from which the objects that may have findings are checked together, before further chunks are
read"""
_MANY = 4
"""if more than one in _MANY objects of a chunk may have findings, the whole chunk is checked at once"""


def judged_in_pieces(document: Excerpt, name: str, policies: Policies, processes: int) -> PolicyFindings | None:
    """The findings about a plan, found by at most `processes` processes. The positions of the changes must be known
    (see `suggested` of excerpt.py). None if the plan must be checked as a whole."""
    reads = policies.reads
    if not reads.predicates.isdisjoint(OF_THE_REST) or not can_be_judged_apart(policies):
        return None
    beside = sum(len(policies.given.rows(n)) for n in policies.given.predicates) + len(policies.modal_program.rules)
    bounds = document.bounds(SIZE * max(1, beside // RULES_OF_A_PIECE))
    shares = max(1, min(processes, len(document) // LEAST_SHARE, len(bounds)))
    parts = shared_out(_Work(document, name, policies, bounds, shares).share, shares)
    return _join_results(parts, policies) if parts is not None else None


@frozen(eq=False)
class _ChunkResult:
    """The result of one process."""

    said: PolicyFindings
    """the counts; for the first process, also the findings"""
    findings: list[tuple[Any, ...]]
    """the packed findings; empty for the first process"""
    addresses: list[int]
    """the hashes of (address, deposed key) of all objects; empty if there is only one process"""


@frozen(eq=False)
class _Work:
    document: Excerpt
    name: str
    policies: Policies
    bounds: list[tuple[int, int]]  # (these numbers are about chunks)
    shares: int

    def share(self, number: int) -> _ChunkResult | None:
        """The result of one process; None if a chunk of the process has a form that requires a check of the whole
        plan."""
        try:
            if not self.document.confirm(number, self.shares):
                return None
            share = _Share(self, has_outputs=number == 0)
            for begin, end in self.bounds[number :: self.shares]:
                share.look_at(self.document.only(begin, end))
            share.judge_suspects()
        except (Failure, Misshapen, JsonError, RecursionError):
            return None
        if any(address in share.outputs for address, _ in share.seen):
            return None
        hashes = list(map(hash, share.seen)) if self.shares > 1 else []
        said = _together(share.said)
        if number == 0:
            return _ChunkResult(said, [], hashes)
        return _ChunkResult(evolve(said, findings=[]), [_pack(finding) for finding in said.findings], hashes)


class _Share:
    """Checks the chunks of one process. Most objects have no findings. The objects that may have findings are checked
    again together, so that their findings have proofs."""

    def __init__(self, work: _Work, has_outputs: bool) -> None:
        self.name, self.policies, self.members = work.name, work.policies, work.document.members
        self.outputs = {f"output.{name}" for name in self.members.get("output_changes") or ()}
        self.without = {**self.members, "output_changes": {}}
        self.has_outputs = has_outputs
        self.matters = kinds_that_matter(work.policies)
        self.seen: set[tuple[str, str]] = set()
        self.said: list[PolicyFindings] = []
        self.suspects: list[Any] = []

    def look_at(self, piece: Excerpt) -> None:
        """Find the objects of a chunk that may have findings. Raises Misshapen and JsonError."""
        has_outputs, self.has_outputs = self.has_outputs, False
        root = self.members if has_outputs else self.without
        entries = list(piece.changes())
        facts = piece_facts(
            Document(self.name, "plan", root, None, piece, entries), self.policies.reads, self.seen, self.matters
        )
        judging = Judging(self.policies, facts, is_piece=True)
        addresses = judging.suspects()
        result = [entry for entry in entries if entry["address"] in addresses] if addresses else []
        if len(result) > len(entries) // _MANY or not self.outputs.isdisjoint(addresses):
            self.said.append(judging.said())
            return
        self.said.append(judging.said(with_findings=False))
        self.suspects += result
        if len(self.suspects) > MOST_SUSPECTS:
            self.judge_suspects()

    def judge_suspects(self) -> None:
        """Check the objects that may have findings. Raises Misshapen and JsonError."""
        if not self.suspects:
            return
        document = Document(self.name, "plan", self.without, None, None, self.suspects)
        facts = piece_facts(document, self.policies.reads, set(), self.matters)
        findings = Judging(self.policies, facts, is_piece=True).said()
        self.said.append(evolve(findings, judged={}))
        self.suspects = []


def _pack(finding: Finding) -> tuple[Any, ...]:
    """The fields of a finding that another process cannot find by the code or rule of the finding."""
    f = finding
    return f.kind, f.code, f.address, f.message, f.rule, f.proof, f.would, f.waits_for, f.by_cases, f.is_organisations


def _unpacked(packed: tuple[Any, ...], policies: Policies, spans: dict[str, Span]) -> Finding:
    *first, rule, proof, would, waits_for, by_cases, is_organisations = packed
    kind, code, address, message = first
    info = policies.packs.policies.get(code)
    span = spans.get(rule)
    more = {"info": info, "by_cases": by_cases, "is_organisations": is_organisations}
    return Finding(kind, code, address, message, rule, span, None, proof, would, waits_for, **more)


def _join_results(parts: list[_ChunkResult | None], policies: Policies) -> PolicyFindings | None:
    """The findings of all processes. None if the plan must be checked as a whole: a process could not check its share,
    an object occurs twice, or a finding may depend on other chunks."""
    items: list[_ChunkResult] = [part for part in parts if part is not None]
    addresses = [address for part in items for address in part.addresses]
    if len(items) < len(parts) or len(set(addresses)) < len(addresses):
        return None
    spans = {rule.name: rule.span for rule in policies.program.rules}
    said = _together(part.said for part in items)
    said.findings.extend(_unpacked(packed, policies, spans) for part in items for packed in part.findings)
    if said.has_cases and (said.steps >= ALL_STEPS or said.has_shapeless):
        return None  # the limit of steps is for the whole plan; an object without known attributes may match any rule
    if said.has_hidden and any(finding.by_cases for finding in said.findings):
        return None  # if any chunk has a sensitive value, messages of cases are hidden
    return said


def _together(findings: Iterable[PolicyFindings]) -> PolicyFindings:
    """The findings of several chunks, combined."""
    every = list(findings)
    judged: dict[str, int] = {}
    for one in every:
        for code, count in one.judged.items():
            judged[code] = judged.get(code, 0) + count
    return PolicyFindings(
        [finding for one in every for finding in one.findings],
        judged,
        sum(one.steps for one in every),
        any(one.has_shapeless for one in every),
        any(one.has_cases for one in every),
        any(one.has_hidden for one in every),
    )


# A plan can be checked chunk by chunk, however it is divided, if each finding about an object depends only on facts
# about this object and on facts that are not about objects. This condition is derived from the rules. Every relation
# that reads facts about objects must have an address column, and each of its rules must join all such relations by one
# variable, which is in the address column of the head. Then all rows of an address are derived in the chunk that
# contains the facts about the address. Rows with the address in any other column may be wrong, because the chunk lacks
# facts. A verdict must depend on at least one row that depends only on facts about the address; facts that are not
# about objects are not sufficient


OF_ONE = frozenset(
    (
        *("change", "action", "undecided", "reason", "replace_path", "moved_from", "instance_of", "import_block"),
        *("output", "planned", "prior", "size_of", "part", "unknown_after", "maybe", "maybe_exact", "maybe_open"),
    )
)
"""relations whose first column is an address and whose rows are determined by the entry of the plan at that address"""
OF_NONE = frozenset(("plan_time",))
"""relations whose rows do not depend on objects"""
_OPERATORS = frozenset(("json_parts", "json_values"))
"""operators for which the rows of an address depend only on the input rows of the same address"""


def can_be_judged_apart(policies: Policies) -> bool:
    """Whether the findings about a plan are always the same as the findings about its chunks together."""
    # decided in Python: whether policies can judge a plan in chunks -- this depends on their text, not on facts
    names, given = policies.reads.predicates, policies.given
    written, modal = policies.program, policies.modal_program
    return (
        (not own_files(policies.files) or is_tame(written.rules))  # only tame rules are evaluated on single chunks
        and is_apart(modal, (*policies.modal.verdicts, "judged"), names, given)
        and is_apart(written, (*VERDICTS, "judged"), names, given)
        and _could_needs_unknowns(policies)
    )


def kinds_that_matter(policies: Policies) -> Callable[[Kind], bool]:
    """A function that returns whether policies, evaluated for a chunk, can have findings about objects of a kind."""
    kinds = {*policies.modal.verdicts, "judged"}
    modal = policies.modal_program
    interest = Interest(modal, frozenset(), policies.given, policies.packs.relations)
    conditions = [interest.condition(r, r.head.arguments[1]) for r in modal.rules if r.head.predicate in kinds]
    return cache(lambda kind: any(condition(kind) for condition in conditions))


def _could_needs_unknowns(policies: Policies) -> bool:
    """Whether unknown values of one object cannot affect the possible verdicts on other objects. This is the case if
    each rule for possible verdicts requires an unknown value or equals the original rule."""
    written = {rule.name: rule for rule in policies.program.rules}
    could = set(policies.modal.could.values())
    unsure = {*MAYBE, *policies.modal.doubts}
    for rule in policies.modal_program.rules:
        if rule.head.predicate not in could or any(isinstance(x, Atom) and x.predicate in unsure for x in rule.body):
            continue
        origin = written.get(written_name(rule.name))
        conditions = {str(literal) for literal in rule.body if not isinstance(literal, Atom)}
        if origin is None or any(str(x) not in conditions for x in origin.body if not isinstance(x, Atom)):
            return False
        if sum(isinstance(x, Atom) for x in rule.body) < sum(isinstance(x, Atom) for x in origin.body):
            return False
    return True


def is_apart(program: RuleProgram, wanted: Collection[str], reads: Collection[str], given: FactBase) -> bool:
    """Whether the relations `wanted` (with the address in the second column) have the same rows and derivations for a
    whole plan and for its chunks together. `reads`: the relations that are read from the plan. `given`: additional
    facts."""
    if not OF_ONE.union(OF_NONE).issuperset(reads) or any(given.relation(name) for name in (*OF_ONE, *wanted)):
        return False
    needed = program.needed(wanted)
    predicates = [p for p in program.predicates.values() if p.number in needed]
    about = _about([r for r in program.rules if program.predicates[r.head.predicate].number in needed], predicates)
    return about is not None and about.is_sound(wanted, given)


class _About:
    """The rules and the relations about objects. `column`: {relation: its address column}."""

    def __init__(self, rules: list[Rule], column: dict[str, int]) -> None:
        self.rules, self.column = rules, column

    def is_sound(self, wanted: Collection[str], given: FactBase) -> bool:
        heads = {rule.head.predicate for rule in self.rules}.intersection(wanted)
        return (
            all(map(self._joins, self.rules))
            and all(self.column.get(name) == 1 for name in heads)
            and heads <= self._only_there(given)
        )

    def _joins(self, rule: Rule) -> bool:
        """Whether the same variable is in the address columns of all atoms of a rule, and of its head if there are such
        atoms."""
        terms = [self.address(atom) for atom, _ in atoms(rule.body) if atom.predicate in self.column]
        if terms:
            terms.append(self.address(rule.head))
        return len({name_of(term) for term in terms}) < 2 and None not in map(name_of, terms)

    def address(self, atom: Atom) -> Term | None:
        at = self.column.get(atom.predicate)
        return None if at is None else atom.arguments[at]

    def _only_there(self, given: FactBase) -> set[str]:
        """The relations of which all rows of an address are derived in the chunk that contains this address."""
        result = set(OF_ONE) | (self.column.keys() - {rule.head.predicate for rule in self.rules})
        while True:
            more = {name for name in self.column.keys() - result if not given.relation(name)}
            for rule in self.rules:
                if not any(isinstance(x, Atom) and x.predicate in result for x in rule.body):
                    more.discard(rule.head.predicate)
            if not more:
                return result
            result |= more


def _about(rules: list[Rule], predicates: Iterable[Predicate]) -> _About | None:
    """The rules and the relations about objects; None if an operator may combine several objects, or if a rule derives
    a row without the object's address from relations about objects."""
    column = dict.fromkeys(OF_ONE, 0)
    operated = [p for p in predicates if p.operator is not None]
    changed = True
    while changed:
        changed = False
        for predicate in operated:
            if predicate.name not in column and any(name in column for name in predicate.inputs):
                if predicate.operator not in _OPERATORS:
                    return None
                column[predicate.name] = 0
                changed = True
        for rule in rules:
            head = rule.head
            if head.predicate in column:
                continue
            read = [atom for atom, _ in atoms(rule.body) if atom.predicate in column]
            if read:
                address = name_of(read[0].arguments[column[read[0].predicate]])
                names = [name_of(term) for term in head.arguments]
                if address is None or address not in names:
                    return None
                column[head.predicate] = names.index(address)
                changed = True
    return _About(rules, column)
