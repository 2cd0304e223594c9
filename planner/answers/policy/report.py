"""Findings as diagnostics, the form in which plans and applies speak."""

from __future__ import annotations

from planner.answers.policy.model import REFUSALS, Finding, Kind
from planner.foundation.vocabulary.diagnostic import Diagnostic

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
    """A denial is an error, and so is what is broken; everything else a warning. Lines with sensitive values are
    named, not quoted."""
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
