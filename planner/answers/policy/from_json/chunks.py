"""Judging a large plan piece by piece, in several processes: where what policies say of an object rests on that object
alone (planner.answers.policy.independence), the pieces say the same as the whole, in less memory and time.

Whatever is not as usual in a piece is nothing for here: then the plan is judged as a whole, which tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.answers.policy.from_json.document import Document, Misshapen
from planner.answers.policy.from_json.excerpt import Excerpt
from planner.answers.policy.from_json.facts import OF_THE_REST, piece_facts
from planner.answers.policy.independence import can_be_judged_apart, kinds_that_matter
from planner.answers.policy.judge import Judging, PolicyFindings
from planner.answers.policy.model import ALL_STEPS, Finding
from planner.answers.policy.program import Policies
from planner.foundation.support.exact_json import JsonError
from planner.foundation.support.forks import shared_out
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span

LEAST_SHARE = 2 << 20
"""bytes of changes that are worth a process"""
SIZE = 1 << 18
"""bytes of changes in a piece"""
RULES_OF_A_PIECE = 600
"""with more rules, and facts beside a plan, pieces are larger, for each has to look at them"""
MOST_SUSPECTS = 1000
"""objects that are set aside to be judged together"""
_MANY = 4
"""where more than one of so many objects would be set aside, the piece is judged at once"""


def judged_in_pieces(document: Excerpt, name: str, policies: Policies, processes: int) -> PolicyFindings | None:
    """What policies say of a plan whose changes were suggested (excerpt.suggested), in at most so many processes; None
    when it has to be judged as a whole."""
    reads = policies.reads
    if not reads.predicates.isdisjoint(OF_THE_REST) or not can_be_judged_apart(policies):
        return None
    beside = sum(len(policies.given.rows(n)) for n in policies.given.predicates) + len(policies.modal_program.rules)
    bounds = document.bounds(SIZE * max(1, beside // RULES_OF_A_PIECE))
    shares = max(1, min(processes, len(document) // LEAST_SHARE, len(bounds)))
    parts = shared_out(_Work(document, name, policies, bounds, shares).share, shares)
    return _joined(parts, policies) if parts is not None else None


@frozen(eq=False)
class _ChunkResult:
    """What comes of a share of the pieces: `findings` are what the forks found; `addresses` are hashes."""

    said: PolicyFindings
    findings: list[tuple[Any, ...]]
    addresses: list[int]


@frozen(eq=False)
class _Work:
    document: Excerpt
    name: str
    policies: Policies
    bounds: list[tuple[int, int]]
    shares: int

    def share(self, number: int) -> _ChunkResult | None:
        """One share of the pieces; None when anything is unusual."""
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
        return _ChunkResult(evolve(said, findings=[]), [_packed(finding) for finding in said.findings], hashes)


class _Share:
    """The pieces that one process judges. Of most objects policies say nothing, and what they say of the others has to
    be proved: these are judged once more, together."""

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
        """Find out of which objects of a piece policies may say something."""
        has_outputs, self.has_outputs = self.has_outputs, False
        root = self.members if has_outputs else self.without
        entries = list(piece.changes())
        facts = piece_facts(
            Document(self.name, "plan", root, None, piece, entries), self.policies.reads, self.seen, self.matters
        )
        judging = Judging(self.policies, facts, is_piece=True)
        addresses = judging.suspects()
        found = [entry for entry in entries if entry["address"] in addresses] if addresses else []
        if len(found) > len(entries) // _MANY or not self.outputs.isdisjoint(addresses):
            self.said.append(judging.said())
            return
        self.said.append(judging.said(with_findings=False))
        self.suspects += found
        if len(self.suspects) > MOST_SUSPECTS:
            self.judge_suspects()

    def judge_suspects(self) -> None:
        """Judge the objects that were set aside."""
        if not self.suspects:
            return
        document = Document(self.name, "plan", self.without, None, None, self.suspects)
        facts = piece_facts(document, self.policies.reads, set(), self.matters)
        said = Judging(self.policies, facts, is_piece=True).said()
        self.said.append(evolve(said, judged={}))
        self.suspects = []


def _packed(finding: Finding) -> tuple[Any, ...]:
    """A finding without what every process has."""
    f = finding
    return f.kind, f.code, f.address, f.message, f.rule, f.proof, f.would, f.waits_for, f.by_cases, f.is_organisations


def _unpacked(packed: tuple[Any, ...], policies: Policies, spans: dict[str, Span]) -> Finding:
    *first, rule, proof, would, waits_for, by_cases, is_organisations = packed
    kind, code, address, message = first
    info = policies.packs.policies.get(code)
    span = spans.get(rule)
    more = {"info": info, "by_cases": by_cases, "is_organisations": is_organisations}
    return Finding(kind, code, address, message, rule, span, None, proof, would, waits_for, **more)


def _joined(parts: list[_ChunkResult | None], policies: Policies) -> PolicyFindings | None:
    """What the processes found; None when something in one concerns the others."""
    found: list[_ChunkResult] = [part for part in parts if part is not None]
    addresses = [address for part in found for address in part.addresses]
    if len(found) < len(parts) or len(set(addresses)) < len(addresses):
        return None
    spans = {rule.name: rule.span for rule in policies.program.rules}
    said = _together(part.said for part in found)
    said.findings.extend(_unpacked(packed, policies, spans) for part in found for packed in part.findings)
    if said.has_cases and (said.steps >= ALL_STEPS or said.has_shapeless):
        return None  # there is a limit for a whole plan, and there are no cases where an object has no shape
    if said.has_hidden and any(finding.by_cases for finding in said.findings):
        return None  # where anything is sensitive, messages of cases are not told
    return said


def _together(said: Iterable[PolicyFindings]) -> PolicyFindings:
    """What is said of several pieces."""
    every = list(said)
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
