"""Verdicts of policies as text: counts after a plan, and the table of `policy check`."""

from __future__ import annotations

from planner.answers.policy.model import Verdict
from planner.render.terminal import Paint, cell


def count_verdicts(verdict: Verdict) -> str:
    """The numbers of findings: `Policies: 1 denied, 2 undecided.` If there are no findings, the number of checked
    policies."""
    words = {"deny": "denied", "warn": "warned"}
    kinds = ("deny", "broken", "undecided", "warn", "overridden", "waived", "info")
    counts = {kind: sum(f.kind == kind for f in verdict.findings) for kind in kinds}
    parts = [f"{count} {words.get(kind, kind)}" for kind, count in counts.items() if count]
    number = len(verdict.codes)
    passed = f"{number} polic{'y' if number == 1 else 'ies'} checked, none denied" if number else "none denied"
    return f"Policies: {', '.join(parts) if parts else passed}."


def compared_verdicts(verdict: Verdict | None, former: Verdict | None, paint: Paint) -> list[str]:
    """Counts, and the findings that were added (+) or removed (-) since a former verdict. `verdict`: None if no
    policies are checked any more."""
    found, was = (
        [f"{f.kind} {cell(f.code)} {cell(f.address or '(plan)')}: {_line(f.message)}" for f in one.findings]
        if one
        else []
        for one in (verdict, former)
    )
    lines = [f"  {paint('+', 'red')} {text}" for text in found if text not in was]
    lines += [f"  {paint('-', 'green')} {text}" for text in was if text not in found]
    return [
        paint(count_verdicts(verdict) if verdict is not None else "Policies: none are checked any more.", "bold"),
        *lines,
    ]


def table(verdict: Verdict, paint: Paint, proofs: bool) -> str:
    """A line for each finding, with its proof if requested, and counts."""
    from tabulate import tabulate

    from planner.render.proof import proof_text

    lines: list[str] = []
    if verdict.findings and not proofs:
        rows = [(f.kind, cell(f.code), cell(f.address or "(plan)"), _line(f.message)) for f in verdict.findings]
        lines += [tabulate(rows, headers=("VERDICT", "CODE", "ADDRESS", "MESSAGE"), disable_numparse=True), ""]
    for finding in verdict.findings if proofs else ():
        title = cell(f"{finding.kind} {finding.code}: {finding.address or 'the plan'} {finding.message}")
        lines.append(paint(title, "bold", "red" if finding.kind in ("deny", "broken") else "yellow"))
        if finding.reason:
            lines.append(f"  {finding.kind}: {finding.reason}")
        if finding.by_cases:
            lines.append("  in all cases; one of them is:")
        lines += [f"  {line}" for line in proof_text(finding.proof, paint, full=True).splitlines()]
        lines.append("")
    lines.append(paint(count_verdicts(verdict), "bold"))
    return "\n".join([*lines, *judged(verdict)])


def judged(verdict: Verdict) -> list[str]:
    """The numbers of checked objects: `Objects checked: encryption 3, required_tags 0.`, for policies that declare
    which objects they check."""
    counts = [f"{code} {count:,}" for code, count in verdict.judged.items()]
    return [f"Objects checked: {', '.join(counts)}."] if counts else []


def _line(text: str) -> str:
    return cell(" ".join(text.split()))


MOST_COSTS = 30
"""maximum number of listed rules"""


def costs(verdict: Verdict) -> str:
    """A table of the costs of the most costly rules, and of the sum for all rules."""
    from tabulate import tabulate

    result = verdict.costs()
    rows = [
        (f"{cost.seconds * 1000:.3f}", str(cost.rows), cell(cost.rule), cell(str(cost.span or "")))
        for cost in result[:MOST_COSTS]
    ]
    total = (f"{sum(cost.seconds for cost in result) * 1000:.3f}", "", f"all {len(result)}", "")
    aligned = ("right", "right", "left", "left")
    return tabulate([*rows, total], headers=("MS", "ROWS", "RULE", ""), disable_numparse=True, colalign=aligned)
