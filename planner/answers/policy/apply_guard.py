"""Decides undecided verdicts during apply. A verdict is decided as soon as the values of an object become known, before
the object is changed."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from planner.answers.policy.facts.contents import maybe_rows
from planner.answers.policy.facts.owners import is_provider
from planner.answers.policy.facts.relations import KEYED, VALUE, PolicyFacts
from planner.answers.policy.judge import Overrides, judge, objections
from planner.answers.policy.model import REFUSALS, Finding, Verdict, diagnostic
from planner.answers.policy.paths_read import EVERYTHING
from planner.answers.policy.planned_values import MAYBE, ValueRows, root_of
from planner.answers.policy.program import Policies
from planner.answers.policy.three_valued import VERDICTS, rewrite
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Constant, RuleVariable
from planner.logic.datalog.language.model import Rule, atoms
from planner.logic.datalog.language.values import Row
from planner.logic.programs.rule_programs import load
from planner.world.state.model import OutputState


class PolicyGuard:
    """Checks policies again when a value becomes known on which an undecided denial depends. Implements
    planner.engine.apply.walk.Guard.

    Each object is checked only once, before its provider changes it. Values that the provider returns only after the
    change (such as an ID) are checked in `afterwards`, when the change can no longer be prevented."""

    def __init__(
        self, policies: Policies, facts: PolicyFacts, verdict: Verdict, overrides: Overrides, clock: int | None = None
    ) -> None:
        self.reads, self.overrides, self.clock = policies.reads, overrides, clock
        waiting = [f for f in verdict.of("undecided") if f.would == "deny" and f.code not in overrides]
        codes = {finding.code for finding in waiting}
        self.narrowed: Narrowed | None = narrowed(policies, codes) if codes else None
        self.waits = self._unknown(facts) if self.narrowed is not None else set()
        self.known = {(f.code, f.address) for f in verdict.of(*REFUSALS, "overridden", "waived")}
        self.hidden = dict(facts.hidden)
        self.owners = facts.owners
        self.relations = {name: set(facts.relation(name)) for name in self.reads.predicates}
        self.about: dict[str, dict[str, set[Row]]] = {address: {} for address in self.waits}
        for name in KEYED & self.relations.keys():
            for row in self.relations[name]:
                if row[0] in self.about:
                    self.about[row[0]].setdefault(name, set()).add(row)
        self._lock = Lock()

    def decide(self, address: str, value: Value) -> list[Diagnostic]:
        """The denials and broken policies that the new value of an object causes; [] if all its values were known when
        the apply began."""
        if address not in self.waits:
            return []
        with self._lock:
            self._learn(address, value)
            return [diagnostic(finding) for finding in self._new(address)]

    def note_value(self, address: str, value: Value) -> None:
        """Record the new value of an object that had unknown values."""
        if address in self.waits:
            with self._lock:
                self._learn(address, value)

    def afterwards(self, outputs: Mapping[str, OutputState]) -> list[Diagnostic]:
        """The denials and broken policies that are caused by values which become known only after the changes.
        `outputs`: the outputs of the root module."""
        with self._lock:
            for name, output in outputs.items():
                address = f"output.{name}"
                if address in self.waits:
                    rows = ValueRows()
                    rows.walk(address, VALUE, output.value, VALUE if output.sensitive else None)
                    self._replace(address, rows)
            return [diagnostic(finding, too_late=True) for finding in self._new(None)]

    @staticmethod
    def _unknown(facts: PolicyFacts) -> set[str]:
        """The addresses of all objects with unknown values. All are needed, because a verdict may later depend on
        values on which it does not depend now."""
        return {str(row[0]) for name in MAYBE for row in facts.relation(name)}

    def _new(self, address: str | None) -> list[Finding]:
        """The denials and broken policies that were not reported before. `address`: the object whose value became
        known; None: the policies are evaluated over all facts."""
        if self.narrowed is None:
            return []
        relations = self.relations
        if address is not None and self.narrowed.is_local:
            relations = {**{name: rows for name, rows in relations.items() if name not in KEYED}, **self.about[address]}
        facts = PolicyFacts(relations, self.hidden, self.owners, given=self.reads.given)
        objected = objections(self.narrowed.policies, facts) - self.known
        if not any(code not in self.overrides for code, _ in objected):
            return []
        verdict = judge(self.narrowed.policies, facts, self.overrides, self.clock, False)
        new = [f for f in verdict.of(*REFUSALS) if (f.code, f.address) not in self.known]
        self.known |= objected
        return new

    def _learn(self, address: str, value: Value) -> None:
        """Replace the rows of an object in the facts by the rows of its new value."""
        rows = ValueRows()
        change = self.owners.changes.get(address)
        whole = change is None or (change.mode == "data" and "data_value" in self.reads)
        rows.add_object(address, value, EVERYTHING if change is None or whole else self.reads.looked(change))
        self._replace(address, rows)

    def _replace(self, address: str, rows: ValueRows) -> None:
        given = self.owners.given(address)
        new: dict[str, set[Row]] = {
            "planned": rows.values,
            "configured": {row for row in rows.values if root_of(row[1]) in given},
            "size_of": rows.sizes,
            "part": rows.parts,
            "unknown_after": set(rows.unknown),
            "maybe": maybe_rows(rows),
            "maybe_exact": rows.exact,
            "maybe_open": rows.open,
        }
        if is_provider(address):
            del new["planned"], new["configured"], new["size_of"], new["part"]
            new["provider_argument"] = rows.values
        elif address in self.owners.changes and self.owners.changes[address].mode == "data":
            new["data_value"] = rows.values
        about = self.about[address]
        for name in new.keys() & self.relations.keys():
            self.relations[name] -= about.get(name, set())
            self.relations[name] |= new[name]
            about[name] = new[name]
        self.hidden.update(rows.hidden)


# Reduces policies to the rules that an apply must evaluate again. There may be thousands of changes, and policies are
# checked before each change. Most rules are about one address. They are evaluated only over the facts about this
# address, so the time does not grow with the plan


@frozen(eq=False)
class Narrowed:
    """Policies with only some of their denials. `is_local`: whether each denial depends only on facts about the address
    of the denial and on facts without an address."""

    policies: Policies
    is_local: bool


def narrowed(policies: Policies, codes: set[str]) -> Narrowed:
    """The policies with only those denials that may have one of these codes. Raises Failure."""
    names = {rule.name for rule in policies.program.rules if rule.head.predicate == "deny" and _may_have(rule, codes)}
    modal, _ = rewrite(policies.program, names)
    assert modal is not None
    program, problems = load("policy", made=[modal.file])
    if program is None:
        raise Failure([d for d in problems if d.is_error])
    kept = [r for r in policies.program.rules if r.head.predicate not in VERDICTS or r.name in names]
    return Narrowed(
        Policies(
            policies.files,
            policies.program,
            modal,
            program,
            policies.packs,
            policies.given,
            policies.settings,
            policies.closed,
        ),
        _is_local(kept),
    )


def _may_have(rule: Rule, codes: set[str]) -> bool:
    code = rule.head.arguments[0]
    return not isinstance(code, Constant) or code.value in codes


def _is_local(rules: list[Rule]) -> bool:
    needed = set[str](VERDICTS)
    keyed = set(KEYED)
    changed = True
    while changed:
        changed = False
        for rule in rules:
            read = {atom.predicate for atom, _ in atoms(rule.body)}
            head = rule.head.predicate
            if head in needed and not read <= needed:
                needed |= read
                changed = True
            if head not in keyed and read & keyed:
                keyed.add(head)
                changed = True
    return all(_rule_is_local(rule, keyed) for rule in rules if rule.head.predicate in needed)


def _rule_is_local(rule: Rule, keyed: set[str]) -> bool:
    about = [atom.arguments[0] if atom.arguments else None for atom, _ in atoms(rule.body) if atom.predicate in keyed]
    if not about:
        return True
    if any(atom.predicate in VERDICTS for atom, _ in atoms(rule.body)):
        return False
    if rule.head.predicate in VERDICTS:
        about.append(rule.head.arguments[1])
    else:
        about.append(rule.head.arguments[0] if rule.head.arguments else None)
    return all(isinstance(term, RuleVariable) for term in about) and len({str(term) for term in about}) == 1
