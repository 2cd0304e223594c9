"""Evaluates policies on the facts of a plan, and proves each finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planner.answers.policy.bounded_cost import is_tame
from planner.answers.policy.enforcement import needs_settling, settle
from planner.answers.policy.facts.relations import KEYED, DeferredResource, PolicyFacts
from planner.answers.policy.library import own_files
from planner.answers.policy.model import KINDS, Finding, Kind, RuleCost, Verdict
from planner.answers.policy.pending_values import waits
from planner.answers.policy.planned_values import MAYBE, THROUGH
from planner.answers.policy.program import Policies, guesses, readers
from planner.answers.policy.secrets import Curtain, values_in
from planner.answers.policy.three_valued import VERDICTS, written_name
from planner.answers.policy.values_read import ANY_REASON, Interest
from planner.foundation.values.value import Unknown
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.language.model import Rule, atoms
from planner.logic.datalog.language.values import Row, sorted_rows
from planner.logic.datalog.tools.describe import rule_statistics
from planner.logic.model.graph import source_json
from planner.logic.programs.actions import actions

if TYPE_CHECKING:
    from planner.answers.policy.case_analysis import Cases

Overrides = Mapping[str, str]
"""{code of a denial: the reason why the user overrides the denial}"""


def judge(
    policies: Policies,
    facts: PolicyFacts,
    overrides: Overrides | None = None,
    clock: int | None = None,
    is_whole: bool = True,
) -> Verdict:
    """The verdict of policies on a plan. `overrides`: the overridden denials. `clock`: the time, in seconds since 1970,
    at which the validity of waivers is checked (None: now). `is_whole`: whether the plan is about the whole
    configuration. Raises Failure if a rule computes without bounds, or if an override is forbidden."""
    judging = Judging(policies, facts)
    return verdict_of(policies, judging.said(), overrides, clock, is_whole, judging.costs)


@frozen(eq=False)
class PolicyFindings:
    """The findings about a plan or a chunk, before levels, overrides and waivers are applied. `judged`: {code: number
    of objects that the policy examined}, for policies that declare these objects. `steps`: the number of steps of the
    case analysis. `has_cases`: whether the case analysis was needed. `has_shapeless`: whether all attributes of an
    object are unknown. `has_hidden`: whether a value is sensitive."""

    findings: list[Finding]
    judged: dict[str, int]
    steps: int = 0
    has_shapeless: bool = False
    has_cases: bool = False
    has_hidden: bool = False


def verdict_of(
    policies: Policies,
    share: PolicyFindings,
    overrides: Overrides | None = None,
    clock: int | None = None,
    is_whole: bool = True,
    costs: Callable[[], list[RuleCost]] = list,
) -> Verdict:
    """The verdict after levels, overrides and waivers are applied to the findings `share`. `clock`, `is_whole`: as for
    `judge`. Raises Failure if an override is forbidden."""
    findings = share.findings
    if needs_settling(policies, overrides or {}):
        findings = settle(findings, policies, overrides or {}, clock, is_whole)
    findings.sort(key=lambda f: (KINDS.index(f.kind), f.code, f.address, f.would, f.message))
    return Verdict(tuple(findings), _codes(policies), share.judged, policies.packs.policies, costs)


def _codes(policies: Policies) -> dict[str, str]:
    """{constant code: the reason of the first rule with this code}."""
    reasons: dict[str, str] = {}
    for rule in policies.program.rules:
        if rule.head.predicate in VERDICTS:
            code = rule.head.arguments[0]
            if isinstance(code, Constant):
                reasons.setdefault(str(code.value), re.sub(r"\{(\w+)\}", r"\1", rule.reason))
    return reasons


def code_places(policies: Policies) -> dict[str, Span]:
    """{constant code: the span of the first rule with this code}."""
    places: dict[str, Span] = {}
    for rule in policies.program.rules:
        code = rule.head.arguments[0] if rule.head.predicate in VERDICTS else None
        if isinstance(code, Constant):
            places.setdefault(str(code.value), rule.span)
    return places


def objections(policies: Policies, facts: PolicyFacts) -> set[tuple[str, str]]:
    """(code, address) of each denial and each broken policy. They are found without proofs."""
    broken = [policies.modal.broken] if policies.modal.broken else []
    database = evaluate(policies.modal_program, facts, ["deny", *broken])
    return {(str(row[0]), str(row[1])) for name in ("deny", *broken) for row in database[name]}


JUDGED = "judged"
PARTLY_KNOWN = "partly_known"
"""the relation (relation, reason) that lists the relations whose rows a Python function could not provide completely"""


class Judging:
    """Evaluates policies on a plan or a chunk (see from_json/chunks.py). Raises Failure if a rule computes without
    bounds."""

    def __init__(self, policies: Policies, facts: PolicyFacts, is_piece: bool = False) -> None:
        self.policies, self.facts = policies, facts
        links = facts.relation(THROUGH)
        could = policies.could if links or any(facts.relation(name) for name in MAYBE) else {}
        self.could = could
        self.broken = policies.modal.broken
        want = [*VERDICTS, JUDGED, PARTLY_KNOWN, *([self.broken] if self.broken else []), *could.values()]
        own = own_files(policies.files) if not is_piece else []
        if own and not is_tame(policies.program.rules):
            from planner.logic.datalog.tools.suite import try_out

            try_out(policies.modal_program, facts, want, ", ".join(own))
        self.database: Database = evaluate(policies.modal_program, facts, want)

    @cached_property
    def untold(self) -> dict[str, str]:
        """{relation with incomplete rows: reason}."""
        partly = {str(name): f"and {why}" for name, why in sorted(self.database[PARTLY_KNOWN], reverse=True)}
        return {**partly, **dict.fromkeys(self.facts.untold, "which this document does not have")}

    @cached_property
    def prover(self) -> Prover:
        return Prover(self.policies.modal_program, self.database)

    @cached_property
    def curtain(self) -> Curtain:
        return Curtain(self.prover, self.facts)

    @cached_property
    def rules(self) -> dict[str, Rule]:
        return {rule.name: rule for rule in self.policies.program.rules}

    @cached_property
    def theirs(self) -> frozenset[str]:
        """The names of the rules in the organisation's files that compute their codes."""
        return frozenset(
            rule.name
            for rule in self.policies.program.rules
            if rule.head.predicate in VERDICTS
            and rule.span.filename in self.policies.closed
            and not isinstance(rule.head.arguments[0], Constant)
        )

    @cached_property
    def cases(self) -> Cases | None:
        unknown = self.facts.unknown
        return _cases(self.policies, self.database, unknown) if self.could and unknown is not None else None

    def suspects(self) -> set[str]:
        """The addresses of objects that may have findings. They are found without proofs."""
        names = (*VERDICTS, *([self.broken] if self.broken else []), *self.could.values())
        return {str(row[1]) for name in names for row in self.database[name]}

    def said(self, with_findings: bool = True) -> PolicyFindings:
        """The findings before levels, overrides and waivers are applied to them."""
        findings = self._findings() if with_findings else []
        cases: Cases | None = self.__dict__.get("cases")
        has_shapeless = any(not path for _, path in self.facts.unknown or ())
        steps, has_cases = (cases.taken, True) if cases is not None else (0, False)
        return PolicyFindings(findings, self._judged(), steps, has_shapeless, has_cases, bool(self.facts.hidden))

    def _findings(self) -> list[Finding]:
        findings: list[Finding] = []
        guessed = guesses(self.policies.program, self.untold.keys()) if self.untold else frozenset[str]()
        for name in VERDICTS:
            certain = self.database[name]
            for row in certain:
                if not guessed or self._holds_without(guessed, name, row):
                    findings.append(self._certain(name, row))
            if name in self.could:
                known = {row[:2] for row in certain}
                for row in sorted_rows(self.database[self.could[name]] - known):
                    is_guess = any(self._code(rule) in ("", row[0]) for rule in guessed)
                    holds = self.cases.decide(name, *row) if self.cases is not None and not is_guess else None
                    if holds is not False:
                        findings += self._undecided(name, row, holds is True)
        for row in self.database[self.broken] if self.broken else ():
            findings.append(self._certain(self.broken, row))
        findings += self._untold()
        findings += self._later(findings)
        return findings

    def _later(self, findings: list[Finding]) -> Iterator[Finding]:
        """The possible findings about objects that are deferred to a later plan."""
        known = {(finding.code, finding.address) for finding in findings}
        for name, number, one in undecided(self.policies, self.facts.later):
            rule = self.policies.program.rules[number]
            code = self._code(rule.name) or rule.name
            if (code, one.address) in known:
                continue
            known.add((code, one.address))
            waits = f"{one.argument} of {one.block} is" if one.argument else "its configuration is"
            message = f"is decided by a later plan, when {waits} known"
            proof = proof_json(Proof("change", ()), self.facts, source_json)
            info = self.policies.packs.policies.get(code)
            span = self.facts.owners.span(one.address)
            yield Finding(
                "undecided", code, one.address, message, rule.name, rule.span, span, proof, would=name, info=info
            )

    def _holds_without(self, guessed: frozenset[str], name: str, row: Row) -> bool:
        """Whether a verdict is also derived without the rules that depend on incomplete relations (`guessed`)."""
        rules = self.prover.program.rules
        return any(
            written_name(rules[number].name) not in guessed for _, number, *_ in self.prover.derivations((name, row))
        )

    def _code(self, rule: str) -> str:
        """The code of a rule; "" if the rule computes its code."""
        code = self.rules[rule].head.arguments[0]
        return str(code.value) if isinstance(code, Constant) else ""

    def _untold(self) -> list[Finding]:
        """A finding for each verdict and code whose rules read relations with incomplete rows, because further verdicts
        cannot be excluded. For a denial, the kind of the finding is "broken" if the relation is not available at all,
        otherwise "deny". For a warning, the kind is "undecided"."""
        if not self.untold:
            return []
        findings = []
        for (verdict, code), (rule, relation) in sorted(
            readers(self.policies.program, self.untold.keys(), self.facts).items()
        ):
            denied: Kind = "broken" if relation in self.facts.untold else "deny"
            kind = denied if verdict == "deny" else "undecided"
            message = f"cannot be decided: it reads {relation}, {self.untold[relation]}"
            proof = proof_json(Proof(relation, ()), self.facts, source_json)
            info = self.policies.packs.policies.get(code)
            findings.append(
                Finding(kind, code, "", message, rule.name, rule.span, None, proof, would=verdict, info=info)
            )
        return findings

    def costs(self) -> list[RuleCost]:
        seconds: dict[str, float] = {}
        rows: dict[str, int] = {}
        for one in rule_statistics(self.database):
            name = written_name(one.rule.name)
            seconds[name] = seconds.get(name, 0.0) + one.seconds
            rows[name] = rows.get(name, 0) + (one.produced if name == one.rule.name else 0)
        spans = {name: rule.span for name, rule in self.rules.items()}
        return [RuleCost(n, spans.get(n), rows[n], seconds[n]) for n in sorted(seconds, key=lambda n: (-seconds[n], n))]

    def _judged(self) -> dict[str, int]:
        """{code: number of examined objects}, for policies that declare these objects."""
        rules = [rule for rule in self.policies.program.rules if rule.head.predicate == JUDGED]
        codes = {str(c.value) for c in (rule.head.arguments[0] for rule in rules) if isinstance(c, Constant)}
        counts = dict.fromkeys(sorted(codes), 0)
        for code, _ in self.database[JUDGED] if rules else ():
            counts[code] = counts.get(code, 0) + 1
        return counts

    def _certain(self, name: str, row: Row) -> Finding:
        code, address, message = map(str, self.curtain.row(name, row))
        kind: Kind = "broken" if name == self.broken else "deny" if name == "deny" else "warn"
        return self._finding(kind, name, row, (code, address, message))

    def _undecided(self, name: str, row: Row, by_cases: bool) -> Iterator[Finding]:
        could = self.could[name]
        code, address = map(str, self.curtain.row(could, row))
        rested, untold = waits(self.policies.modal_program, self.policies.modal, self.database, self.prover, could, row)
        waited_for = tuple(sorted({self._path((str(address), str(path))) for address, path in rested}))
        what = _shortened_list([f"{a}.{path}" if path else a for a, path in waited_for])
        if by_cases:
            kind: Kind = "deny" if name == "deny" else "warn"
            for message in self._in_all_cases(name, row, code, what):
                yield self._finding(kind, could, row, (code, address, message), waits_for=waited_for, by_cases=True)
            return
        message = f"is decided when {what or 'more'} {'are' if len(waited_for) > 1 else 'is'} known"
        if untold:
            names = {is_resource: sorted(n for n, r in untold if r is is_resource) for is_resource in (False, True)}
            rests = (
                [f"the references of {_shortened_list(names[False])}, which this document lacks"]
                if names[False]
                else []
            )
            rests += [f"which instances of {_shortened_list(names[True])} are referenced"] if names[True] else []
            rest = ", and on ".join(rests)
            message = f"{message}, and depends on {rest}" if what else f"depends on {rest}"
        more: dict[str, Any] = {"would": name, "waits_for": waited_for, "meaning": self._only_message(name, code)}
        yield self._finding("undecided", could, row, (code, address, message), **more)

    def _in_all_cases(self, name: str, row: Row, code: str, what: str) -> list[str]:
        """The messages of a verdict that holds in all cases: the message of its rules if there is only one constant
        message, otherwise the messages that all cases have in common. If there are none, or if they may contain
        secrets, the only message is a general one."""
        if only := self._only_message(name, code):
            return [only]
        messages = self.cases.messages.get((name, *row), frozenset()) if self.cases is not None else frozenset()
        if messages and not self.facts.hidden:
            return sorted(messages)
        verb = "is denied" if name == "deny" else "has a warning"
        return [f"{verb} for every possible value of {what or 'a value that is not known yet'}"]

    def _only_message(self, name: str, code: str) -> str:
        """The message of the rules for a code if there is only one message and it is constant; otherwise ""."""
        heads = [rule.head.arguments for rule in self.policies.program.rules_for(name)]
        written = {str(m): m for c, _, m in heads if not isinstance(c, Constant) or c.value == code}
        only = next(iter(written.values())) if len(written) == 1 else None
        return str(only.value) if isinstance(only, Constant) else ""

    def _path(self, wait: tuple[str, str]) -> tuple[str, str]:
        return wait[0], self.facts.hidden.get(wait, wait[1])

    def _finding(self, kind: Kind, predicate: str, row: Row, shown: tuple[str, str, str], **more: Any) -> Finding:
        proof = self.prover.why(predicate, row)
        assert proof is not None
        name = written_name(proof.rule.name) if proof.rule is not None else ""
        rule = self.rules.get(name)
        code, address, message = shown
        span = self._subject(address, proof)
        info = more["info"] = self.policies.packs.policies.get(code)
        secret = info is not None and info.secret
        curtain = Curtain(self.prover, self.facts, values_in(proof)) if secret else self.curtain
        shown_proof = curtain.proof(proof)
        more["is_organisations"] = bool(self.theirs) and self._is_theirs(predicate, row)
        more["is_quotable"] = span is None or curtain.is_quotable(span)
        return Finding(kind, code, address, message, name, rule.span if rule else None, span, shown_proof, **more)

    def _is_theirs(self, predicate: str, row: Row) -> bool:
        """Whether one of the rules in `theirs` derives the row."""
        rules = self.prover.program.rules
        return any(
            written_name(rules[number].name) in self.theirs
            for _, number, *_ in self.prover.derivations((predicate, row))
        )

    def _subject(self, address: str, proof: Proof) -> Span | None:
        """The span of the argument of an object that a proof reads, or of the block of the object if the proof reads no
        argument. None if there is no block."""
        for at in proof.leaves():
            if at.row and at.row[0] == address and at.predicate in ("planned", "configured"):
                best = self.facts.owners.span(address, str(at.row[1]))
                if best is not None:
                    return best
        return self.facts.owners.span(address)


def _shortened_list(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _cases(policies: Policies, database: Database, unknown: Mapping[tuple[str, str], Unknown]) -> Cases:
    from planner.answers.policy.case_analysis import Cases

    return Cases(policies, database, unknown)


# Possible findings about objects of a later plan, because a policy has not passed until it has examined these objects


_OF_OTHERS = frozenset(("output", "variable", "check_result"))


def undecided(policies: Policies, later: Iterable[DeferredResource]) -> Iterator[tuple[str, int, DeferredResource]]:
    """(verdict, index of the rule, object) for each verdict that is possible about an object deferred to a later plan.
    For a rule with a constant address, only the first object is returned."""
    program = policies.program
    interest = Interest(program, frozenset(), policies.given, policies.packs.relations)
    later = list(later)
    for rule in program.rules if later else ():
        if rule.head.predicate not in VERDICTS:
            continue
        about = rule.head.arguments[1]
        if isinstance(about, Constant):
            if not _reads_objects(policies, rule.number):
                continue
            met = later[:1]
        else:
            condition = interest.condition(rule, about)
            met = [one for one in later if any(condition((one.mode, one.type, a, ANY_REASON, True)) for a in actions())]
        yield from ((rule.head.predicate, rule.number, one) for one in met)


def _reads_objects(policies: Policies, number: int) -> bool:
    """Whether a rule depends on facts about objects."""
    program = policies.program
    needed = program.needed({atom.predicate for atom, _ in atoms(program.rules[number].body)})
    return any(p.number in needed and p.name in KEYED - _OF_OTHERS for p in program.predicates.values())
