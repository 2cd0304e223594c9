"""The differences of two plans, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.logic.programs.actions import Counts, verb_of
from planner.operations.what_if import Difference, PlanComparison
from planner.render.cause_line import root_lines
from planner.render.plan import pending
from planner.render.terminal import Paint


def what_if_text(comparison: PlanComparison, actions: Mapping[str, str], paint: Paint) -> str:
    """Each difference with its cause, and both counts. `actions`: of both plans, by name."""
    lines = differences_lines(comparison, actions, paint) or ["Nothing would be planned otherwise."]
    lines += [
        "",
        f"Without: {pending(Counts.of_plan(comparison.without.plan))}.",
        f"With:    {pending(Counts.of_plan(comparison.within.plan))}.",
    ]
    return "\n".join(lines)


def differences_lines(comparison: PlanComparison, actions: Mapping[str, str], paint: Paint) -> list[str]:
    """Each difference with its cause."""
    lines = []
    for difference in comparison.differences:
        lines.append(f"{paint(difference.name, 'bold')}: {_change(difference)}")
        if difference.because is not None:
            lines += [f"  {line}" for line in root_lines(difference.because, difference.name, actions)]
    return lines


def _change(difference: Difference) -> str:
    if difference.without == difference.within:
        return f"{_word(difference.within)} to other values"
    return f"{_word(difference.within)} instead of {_word(difference.without)}"


def _word(action: str) -> str:
    return "no change" if action == "no-op" else verb_of(action)


def what_if_json(comparison: PlanComparison) -> dict[str, Any]:
    """`differences`: each with its `address`, the action `without` and `with`, and its `because` steps."""
    return {
        "format_version": "1.0",
        "differences": [
            {
                "address": d.name,
                "without": "no-op" if d.without == "no-op" else verb_of(d.without),
                "with": "no-op" if d.within == "no-op" else verb_of(d.within),
                **(d.because.json if d.because is not None else {}),
            }
            for d in comparison.differences
        ],
        "without": _counts(comparison.without.plan),
        "with": _counts(comparison.within.plan),
    }


def _counts(plan: Any) -> dict[str, int]:
    counts = Counts.of_plan(plan)
    return {
        "add": counts.add,
        "change": counts.change,
        "remove": counts.remove,
        "import": counts.imports,
        "forget": counts.forget,
    }
