"""Finds proofs of findings by the policies as they are written, and the values that cause the findings.

The rules as they are written treat unknown values as missing. A certain conclusion also follows from these rules,
because rewriting only adds conditions (see planner.answers.policy.three_valued). So each certain verdict has a proof by
the rules as they are written. For an undecided verdict, the unknown values on which it depends are reported instead of
a proof; for a broken verdict, its causes are reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from planner.answers.policy.facts.relations import PolicyFacts
from planner.answers.policy.model import Finding
from planner.answers.policy.program import Policies
from planner.answers.policy.secrets import MASK, Curtain
from planner.answers.policy.three_valued import VERDICTS
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.rule_syntax import Atom, Constant, Literal, Wildcard
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.datalog.engine.interpret import value_of
from planner.logic.datalog.explain.render import Absence
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.datalog.explain.why_not import obstacles, why_not
from planner.logic.datalog.language.values import Row, decode, member

READ = ("planned", "configured", "size_of", "json_value", "prior")
"""relations with the value at a path"""
_SOUGHT = (*READ, "part", "json_part")


@frozen
class Culprit:
    """A cause of a verdict. It is the value at a path, as policies read it, a missing value at a path (`is_missing`),
    or the planned action of an object (`is_action`; then `value` is the action). `is_secret`: whether the value must
    not be shown. `fact`: the fact in the proof; None if there is none."""

    address: str
    path: str
    value: Any = None
    is_missing: bool = False
    is_secret: bool = False
    is_action: bool = False
    fact: tuple[str, Row] | None = None

    @property
    def what(self) -> str:
        """The place of the value, such as `terraform_data.a.input.size`."""
        return join_path(self.address, self.path)

    @property
    def is_prior(self) -> bool:
        """Whether the value is in the state, so that editing the configuration does not change the value."""
        return self.fact is not None and self.fact[0] == "prior"


class PlainProofs:
    """Finds proofs of findings by the rules as they are written."""

    def __init__(self, policies: Policies, facts: PolicyFacts) -> None:
        self.policies, self.facts = policies, facts
        self.prover = Prover(policies.program, evaluate(policies.program, facts, VERDICTS))
        self.curtain = Curtain(self.prover, facts)

    def proof(self, finding: Finding) -> Proof | None:
        """The proof of a denial or warning; None if the finding is not certain."""
        predicate = "warn" if finding.origin == "warn" else "deny"
        if finding.origin in ("undecided", "broken") or finding.by_cases:
            return None
        for row in sorted(self.prover.database[predicate], key=str):
            shown = tuple(map(str, self.curtain.row(predicate, row)))
            if shown == (finding.code, finding.address, finding.message):
                return self.prover.why(predicate, row)
        return None

    def proof_of(
        self, predicate: str, code: str, address: str, changed: Collection[Culprit], values: Collection[Row] = ()
    ) -> tuple[Proof, Prover] | None:
        """(proof, prover) of a verdict with this code and address after changes of the facts. The values and actions in
        `changed` are removed, the missing values in `changed` get arbitrary values, and the rows in `values` (of the
        relation `planned`) are added. None if the verdict does not hold after these changes."""
        facts = _changed_facts(self.facts, changed, values)
        prover = self.prover
        if changed:
            prover = Prover(self.policies.program, evaluate(self.policies.program, facts, [predicate]))
        for row in sorted(prover.database[predicate], key=str):
            if tuple(map(str, self.curtain.row(predicate, row)[:2] if not changed else row[:2])) == (code, address):
                proof = prover.why(predicate, row)
                return (proof, prover) if proof is not None else None
        return None

    def obstacles(self, predicate: str, code: str, address: str) -> list[dict[str, Any]]:
        """For each rule with the code, the first condition that fails for the address. If the plan has sensitive
        values, conditions are shown as they are written in the rules."""
        result = []
        for rule in self.policies.program.rules_for(predicate):
            first, _, message = rule.head.arguments
            if isinstance(first, Constant) and first.value != code:
                continue
            row = (code, address, message.value if isinstance(message, Constant) else "")
            result += [o for o in obstacles(self.prover, predicate, row) if o["rule"] == rule.name and o["head_fits"]]
        return self.curtain.obstacles(result)

    def document(self, proof: Proof) -> dict[str, Any]:
        """The proof in the documented format, without sensitive values."""
        return self.curtain.proof(proof)

    def culprits(self, proof: Proof, prover: Prover | None = None) -> list[Culprit]:
        """The causes of a verdict: first missing values, then existing values, then planned actions. Values of which
        only the existence matters are included only if no other values are causes."""
        items = list(dict.fromkeys(self._all(proof, prover or self.prover)))
        values = [(culprit, is_telling) for culprit, is_telling in items if not culprit.is_action]
        telling = [culprit for culprit, is_telling in values if is_telling] or [culprit for culprit, _ in values]
        acting = [culprit for culprit, _ in items if culprit.is_action]
        return [*sorted(dict.fromkeys(telling), key=lambda culprit: not culprit.is_missing), *dict.fromkeys(acting)]

    def read_by(self, finding: Finding) -> list[Culprit]:
        """The values that the proof of a finding reads (also of a broken finding), sorted."""
        leaves = (step["tuple"] for step in finding.proof["proofs"].values() if step.get("input"))
        read = [(row[0], str(row[1]), str(row[2]), row[-1]) for row in leaves if row[0] in READ]
        culprits = [
            Culprit(a, p, None if v == MASK else v, is_secret=v == MASK, fact=_prior_fact(name, a, p))
            for name, a, p, v in read
        ]
        return sorted(set(culprits), key=lambda culprit: (culprit.what, not culprit.is_prior))

    def _all(self, proof: Proof, prover: Prover) -> Iterator[tuple[Culprit, bool]]:
        stack: list[tuple[Proof, Literal | None]] = [(proof, None)]
        seen: set[int] = set()
        while stack:
            at, literal = stack.pop()
            if at.rule is None:
                yield from self._leaf_culprits(at, literal)
                continue
            if id(at) in seen:
                continue
            seen.add(id(at))
            pairs = list(zip(at.rule.body, at.body, strict=True))
            for _, entry in pairs:
                if isinstance(entry, Absence):
                    yield from ((culprit, True) for culprit in _missing(prover, entry.predicate, entry.pattern))
            stack += [(entry, below) for below, entry in reversed(pairs) if isinstance(entry, Proof)]

    def _leaf_culprits(self, leaf: Proof, literal: Literal | None) -> Iterator[tuple[Culprit, bool]]:
        row = leaf.row
        if leaf.predicate == "action":
            yield Culprit(str(row[0]), "", row[1], is_action=True, fact=(leaf.predicate, row)), True
        elif leaf.predicate in READ:
            is_any = isinstance(literal, Atom) and isinstance(literal.arguments[-1], Wildcard)
            shown = self.curtain.row(leaf.predicate, row)
            address, path = str(row[0]), str(row[1])
            is_secret = shown != row or MASK in shown
            value = None if is_secret else decode(row[-1])
            yield (
                Culprit(
                    address, str(shown[1]) if is_secret else path, value, False, is_secret, False, (leaf.predicate, row)
                ),
                not is_any,
            )


def _missing(prover: Prover, predicate: str, pattern: tuple[Any, ...]) -> Iterator[Culprit]:
    """The missing values because of which no row of a predicate matches `pattern` (None: any value)."""
    if predicate in _SOUGHT:
        yield from _absent(predicate, pattern)
        return
    if None in pattern or not prover.program.rules_for(predicate):
        return
    for obstacle in why_not(prover, predicate, pattern) or ():
        literal = obstacle.literal
        if isinstance(literal, Atom) and literal.predicate in _SOUGHT:
            terms = literal.arguments
            values = [None if isinstance(t, Wildcard) else value_of(t, obstacle.assignment) for t in terms]
            yield from _absent(literal.predicate, tuple(values))


def _prior_fact(predicate: str, address: str, path: str) -> tuple[str, Row] | None:
    return (predicate, (address, path)) if predicate == "prior" else None


def _changed_facts(facts: FactBase, changed: Collection[Culprit], values: Collection[Row]) -> FactBase:
    """The facts of a plan after the changes `changed` and `values` (see `proof_of`)."""
    gone = {c.fact[1][:2] for c in changed if c.fact is not None and not c.is_action}
    removed = {
        name: {row for row in facts.relation(name) if (row[0], row[1]) in gone}
        for name in READ
        if name != "prior" and facts.relation(name)
    }
    parts = facts.relation("part")
    removed["part"] = {row for row in parts if (row[0], row[3]) in gone}
    acting = {c.address for c in changed if c.is_action}
    removed["action"] = {row for row in facts.relation("action") if row[0] in acting}
    builder = FactBuilder(FactBase.without(facts, removed))
    for row in values:
        builder.add("planned", *row)
        builder.add("configured", *row)
    for culprit in changed:
        if culprit.is_missing:
            builder.add("planned", culprit.address, culprit.path, "something")
            builder.add("configured", culprit.address, culprit.path, "something")
            around, key = _last_key(culprit.path)
            if key is not None:
                builder.add("part", culprit.address, around, key, culprit.path)
    return builder.build()


def _last_key(path: str) -> tuple[str, Any]:
    """(path of the container, key) for a path with a key at its end, such as ("tags", "Owner") for `tags.Owner`. (path,
    None) for any other path."""
    around, dot, key = path.rpartition(".")
    if dot and "]" not in key:
        return around, key
    if path.endswith("]"):
        around, _, written = path[:-1].rpartition("[")
        return around, written.strip('"') if written.startswith('"') else int(written) if written.isdigit() else None
    return path, None


def _absent(predicate: str, pattern: tuple[Any, ...]) -> Iterator[Culprit]:
    address, path = pattern[:2]
    if not isinstance(address, str) or not isinstance(path, str):
        return
    key = pattern[2] if predicate == "part" else None
    if isinstance(key, str):
        path = member(path, key)
    elif key is not None:
        path = f"{path}[{decode(key)}]"
    yield Culprit(address, path, is_missing=True, fact=_prior_fact(predicate, address, path))


def join_path(address: str, path: str) -> str:
    """The name of the value at a path of an object, such as `terraform_data.a.input[0]` or `output.x`."""
    if not path or (address.startswith(("var.", "output.")) and path == "value"):
        return address
    return f"{address}{path}" if path.startswith("[") else f"{address}.{path}"
