"""Explanations of policy findings: the rule, and the values that cause the finding, each with its line.

An explanation is a document in the proof format, in which the rules are shown as they are written. Its member
`culprits` contains, for each value, the expression that sets the value (not the block that contains the expression). If
the expression only copies a value, the copies are traced back to their source."""

from __future__ import annotations

from typing import Any

from planner.answers.explain.places import LocationLookup, ValueLocation
from planner.answers.explain.why import Explainer
from planner.answers.policy.model import Finding
from planner.answers.policy.two_valued import Culprit, PlainProofs, join_path
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.chains import Chain
from planner.language.syntax.nodes import Traversal, Variable
from planner.language.syntax.rule_syntax import Constant
from planner.logic.datalog.language.link import has_own_reason
from planner.logic.datalog.language.model import Rule
from planner.logic.model.graph import StateEntry, source_json

_FARTHEST = 8
"""maximum number of references that are followed"""


def explain_finding(finding: Finding, plain: PlainProofs, explainer: Explainer) -> dict[str, Any]:
    return _Explained(finding, plain, explainer).document()


class Culprits:
    """Describes the values that cause a finding, with the line and the source of each value."""

    def __init__(self, plain: PlainProofs, explainer: Explainer) -> None:
        self.plain, self.explainer = plain, explainer
        self.places: LocationLookup = explainer.places

    def told(self, culprit: Culprit) -> dict[str, Any]:
        """A cause of a finding as JSON: an action, or a value with its source location. A value that is not missing,
        secret or from the state also has the places from which it is copied."""
        told: dict[str, Any] = {"what": culprit.what}
        if culprit.is_action:
            return told | {"action": culprit.value}
        if culprit.is_missing:
            told["is_missing"] = True
        elif not culprit.is_secret:
            told["value"] = culprit.value
        if culprit.is_prior:
            return told | {"is_prior": True, "source": source_json(StateEntry(culprit.address))}
        place = self.place(culprit.address, culprit.path)
        span = self.span(place) or self.plain.facts.owners.span(culprit.address, culprit.path)
        told |= self.source(span, culprit.is_secret)
        if place is not None and not culprit.is_missing and not culprit.is_secret:
            told["from"] = list(self.followed(place))
        return told

    def place(self, address: str, path: str) -> ValueLocation | None:
        """The place of a value; for a missing value, the innermost enclosing place that exists and has an expression.
        None if there is no such place."""
        while True:
            place = self.places.read(join_path(address, path))
            if place is not None and (not path or (self.places.found(place) and self.span(place) is not None)):
                return place
            if not path:
                return None
            path = path[: max(path.rfind("."), path.rfind("["), 0)]

    def span(self, place: ValueLocation | None) -> Span | None:
        """The span of the expression that sets the value at a place; None if there is none."""
        given = self.places.given(place) if place is not None else None
        return given.span if given is not None else None

    def source(self, span: Span | None, is_secret: bool = False) -> dict[str, Any]:
        if span is None:
            return {}
        source = source_json(span)
        if is_secret or not self.plain.curtain.is_quotable(span):
            del source["snippet"]
        return {"source": source}

    def followed(self, place: ValueLocation) -> list[dict[str, Any]]:
        """The places from which the value at a place is copied, step by step, as JSON. The search stops after _FARTHEST
        steps and before a sensitive value."""
        steps: list[dict[str, Any]] = []
        while len(steps) < _FARTHEST:
            if place.kind == "var" and place.module.parent is None:
                if steps:
                    steps[-1] |= self.given_variable(place)
                break
            given = self.places.given(place)
            if given is None or not isinstance(given.node, (Traversal, Variable)):
                break
            meant = self.places.meant(Chain(given.node, (), given.node.start, given.node.end), given, place)
            if meant is None or self.places.is_sensitive(meant):
                break
            place = meant.at((*meant.path, *given.rest))
            steps.append({"what": str(place), **self.source(self.span(place))})
        return steps

    def given_variable(self, place: ValueLocation) -> dict[str, Any]:
        """The origin of a root variable's value, as {"origin", "source"}. "source" is left out if the place is unknown.
        {} if the origin is unknown."""
        trace = self.explainer.trace()
        trace.value(place)
        facts = trace.build()
        for row in facts.relation("root_variable"):
            if row[0] == str(place.whole):
                source = facts.source("root_variable", row)
                return {"origin": row[2], **({"source": source_json(source)} if source is not None else {})}
        return {}


class _Explained(Culprits):
    def __init__(self, finding: Finding, plain: PlainProofs, explainer: Explainer) -> None:
        super().__init__(plain, explainer)
        self.finding = finding

    def document(self) -> dict[str, Any]:
        finding = self.finding
        proof = self.plain.proof(finding)
        written = {r.name: r for r in self.plain.policies.program.rules}.get(finding.rule)
        about: dict[str, Any] = {"rule": {"name": finding.rule}}
        if written is not None:
            about["rule"] |= {"text": written.text, "source": source_json(written.span)}
            if proof is not None and has_own_reason(written, self.plain.policies.program.predicates):
                about["rule"]["reason"] = self.plain.document(proof)["proofs"]["p1"]["reason"]
        document: dict[str, Any] = {
            "format_version": "1.0",
            "goal": [finding.kind, finding.code, finding.address, finding.message],
            **about,
        }
        if finding.reason:
            document["overridden"] = finding.reason
        if finding.kind == "undecided":
            document["would"] = finding.would
            document["waits_for"] = [self.waiting(address, path) for address, path in finding.waits_for]
        if finding.by_cases:
            document["by_cases"] = [
                {"name": rule.name, "text": rule.text, "source": source_json(rule.span)} for rule in self.rules()
            ]
            document["waits_for"] = [self.waiting(address, path) for address, path in finding.waits_for]
        if finding.kind == "broken":
            document["culprits"] = [self.told(culprit) for culprit in self.plain.read_by(finding)]
        if proof is None:
            return document
        document["culprits"] = [self.told(culprit) for culprit in self.plain.culprits(proof)]
        shown = self.plain.document(proof)
        return document | {name: shown[name] for name in ("root", "proofs")}

    def rules(self) -> list[Rule]:
        """The rules that can derive a verdict with the code of the finding."""
        verdict = "warn" if self.finding.kind == "warn" else "deny"
        rules = self.plain.policies.program.rules_for(verdict)
        codes = [(rule, rule.head.arguments[0]) for rule in rules]
        return [rule for rule, code in codes if not isinstance(code, Constant) or code.value == self.finding.code]

    # -------- what is not known yet

    def waiting(self, address: str, path: str) -> dict[str, Any]:
        """A value on which an undecided verdict depends, as JSON, with the reason why the value is unknown."""
        text = join_path(address, path)
        place = self.place(address, path)
        span = self.span(place) or self.plain.facts.owners.span(address, path)
        told = {"what": text, **self.source(span, place is not None and self.places.is_sensitive(place))}
        for at in dict.fromkeys((text, str(place) if place is not None else text)):
            try:
                return told | {"why": self.explainer.unknown(at)}
            except Failure:  # perhaps only a value around this value is unknown
                continue
        return told
