"""Findings of policies about one plan or several plans. Findings do not contain sensitive values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from planner.answers.policy.manifest import PolicyInfo
from planner.foundation.support.notebook import table_html
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span

Kind: TypeAlias = Literal["deny", "broken", "undecided", "warn", "overridden", "waived", "info"]
KINDS: tuple[Kind, ...] = ("deny", "broken", "undecided", "warn", "overridden", "waived", "info")
USUAL: tuple[Kind, ...] = ("deny", "undecided", "warn", "overridden")
"""kinds whose number of findings is shown even if the number is 0"""
REFUSALS: tuple[Kind, ...] = ("deny", "broken")
"""kinds that prevent an apply"""

ALL_STEPS = 300_000
"""maximum number of steps of case analysis for all verdicts of a plan; the remaining verdicts stay undecided"""


@frozen(eq=False)
class Finding:
    """One verdict of a policy. If several plans are checked together (combined_plans.py), `address` is the unit or
    component, and each tuple in `waits_for` begins with a unit or component.

    `kind`: one of the following. deny and warn: the verdict of the policy. broken: the policy computes something that
    has no value, or reads data that are not available. undecided: the verdict depends on unknown values. overridden: a
    denial that -policy-override accepts for `reason`. waived: accepted by the waiver in `reason`. info: the finding is
    only reported. For an undecided finding, `waits_for` contains the (address, path) of the unknown values, and `would`
    is the possible kind, deny or warn. `rule`: the name of the rule. `rule_span`: the place of the rule. `span`: the
    place of the finding's subject. `proof`: the proof in the documented format.
    """

    kind: Kind
    code: str
    address: str
    message: str
    rule: str
    rule_span: Span | None
    span: Span | None
    proof: dict[str, Any] = field(repr=False)
    would: str = "deny"
    waits_for: tuple[tuple[str, ...], ...] = ()
    reason: str = ""
    info: PolicyInfo | None = field(default=None, repr=False)
    """the policy's metadata in its pack: level, severity, title, links, controls"""
    said: Kind | None = None
    """the kind before levels, overrides and waivers were applied; None if none of them were applied"""
    meaning: str = ""
    """the message of an undecided verdict if it does not depend on unknown values, otherwise empty"""
    by_cases: bool = False
    """whether the verdict was found by case analysis: it holds for all possible values in `waits_for`, perhaps for
    different reasons"""
    is_organisations: bool = False
    """whether a rule of the organisation computes the code, so that the code is not in the source text of the rule"""
    is_quotable: bool = True
    """whether the lines at `span` contain no sensitive values, so that they may be shown"""

    @property
    def origin(self) -> Kind:
        """The kind before levels, overrides and waivers were applied."""
        return self.said or ("deny" if self.kind == "overridden" else self.kind)

    def to_json(self) -> dict[str, Any]:
        """The finding as in `policy check -format=json`."""
        document: dict[str, Any] = {
            "verdict": self.kind,
            "code": self.code,
            "address": self.address,
            "message": self.message,
            "rule": self.rule,
        }
        if self.rule_span is not None:
            document["policy"] = {"file": self.rule_span.filename, "line": self.rule_span.line}
        if self.span is not None:
            document["subject"] = {"file": self.span.filename, "line": self.span.line}
        if self.kind == "undecided":
            document["would"] = self.would
        if self.by_cases:
            document["by_cases"] = True
        if self.kind == "undecided" or self.by_cases:
            document["waits_for"] = [{"address": address, "path": path} for address, path in self.waits_for]
        if self.reason:
            document["reason"] = self.reason
        if self.info is not None:
            document["metadata"] = self.info.to_json()
        document["proof"] = self.proof
        return document


@frozen
class RuleCost:
    """The cost of a rule, including the cost of its rewritten forms for unknown values: the number of derived rows, and
    the time in seconds."""

    rule: str
    span: Span | None
    rows: int
    seconds: float


@frozen(eq=False)
class Verdict:
    """All findings about a plan, sorted by kind (denials first), code, address and message. `codes`: {constant code:
    reason of the first rule with this code}. `judged`: {code: number of examined objects}, for codes of the relation
    `judged`."""

    findings: tuple[Finding, ...] = ()
    codes: dict[str, str] = field(factory=dict)
    judged: dict[str, int] = field(factory=dict)
    policies: dict[str, PolicyInfo] = field(factory=dict)
    """{code: metadata of the policy in its pack}"""
    costs: Callable[[], list[RuleCost]] = field(default=list, repr=False)
    """returns the costs of the rules, the most expensive rule first"""

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number)
        return f"<Verdict {self.outcome}: {counts or 'no findings'}>"

    def _repr_html_(self) -> str:
        rows = [(f.kind, f.code, f.address, f.message) for f in self.findings]
        return table_html(("verdict", "code", "address", "message"), rows, repr(self)[1:-1])

    def __reduce__(self) -> tuple[Any, ...]:
        costs: Callable[[], list[RuleCost]] = partial(list, tuple(self.costs()))
        return Verdict, (self.findings, self.codes, self.judged, self.policies, costs)

    def of(self, *kinds: Kind) -> list[Finding]:
        return [finding for finding in self.findings if finding.kind in kinds]

    @property
    def is_denied(self) -> bool:
        """Whether the plan must not be applied."""
        return any(finding.kind in REFUSALS for finding in self.findings)

    @property
    def outcome(self) -> str:
        """The verdict on the plan: "deny", "broken", "undecided" or "pass"."""
        return next((kind for kind in (*REFUSALS, "undecided") if self.of(kind)), "pass")

    @property
    def counts(self) -> dict[Kind, int]:
        return {kind: len(self.of(kind)) for kind in KINDS if kind in USUAL or self.of(kind)}

    def to_json(self) -> dict[str, Any]:
        """The document of `policy check -format=json`."""
        return {
            "format_version": "1.0",
            "verdict": self.outcome,
            "counts": self.counts,
            **({"judged": self.judged} if self.judged else {}),
            "findings": [finding.to_json() for finding in self.findings],
        }


# Findings as diagnostics, for plans and applies


TITLES: dict[Kind, tuple[str, str]] = {
    "deny": ("policy.denied", "Denied by policy {}"),
    "broken": ("policy.broken", "Policy {} cannot be decided"),
    "warn": ("policy.warning", "Warning of policy {}"),
    "undecided": ("policy.undecided", "Undecided policy {}"),
    "waived": ("policy.waived", "Waived: policy {}"),
    "info": ("policy.info", "Policy {}"),
    "overridden": ("policy.overridden", "Denial of policy {} overridden"),
}


def diagnostic(finding: Finding, too_late: bool = False) -> Diagnostic:
    """A finding as a diagnostic. Denials and broken policies are errors, all other findings are warnings. Lines with
    sensitive values are not quoted; only their numbers are given. `too_late`: whether the object was changed before the
    finding was known."""
    code, title = TITLES[finding.kind]
    detail = f"{finding.address} {finding.message}".strip() + f" [{finding.rule}]"
    if finding.kind in ("overridden", "waived"):
        detail += f"\nReason: {finding.reason}"
    if too_late:
        detail += "\nThis became known only after the object had been changed."
    subject = finding.span
    if subject is not None and not finding.is_quotable:
        detail += f"\nSee {subject}."
        subject = None
    severity = "error" if finding.kind in REFUSALS else "warning"
    return Diagnostic(severity, code, title.format(finding.code), detail, subject, address=finding.address or None)  # type: ignore[arg-type]
