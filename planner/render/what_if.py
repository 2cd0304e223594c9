"""The differences of two plans, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from planner.answers.explain.plan_difference import ValueDifference
from planner.logic.programs.actions import Counts, verb_of, words_for
from planner.operations.explanations import changed_actions
from planner.operations.what_if import Difference, PlanComparison
from planner.render.alike import alike
from planner.render.cause_line import root_lines
from planner.render.plan import pending, pending_actions
from planner.render.terminal import Paint

MOST_VALUES = 3
"""the maximum number of values of one object that are shown"""


def what_if_text(comparison: PlanComparison, actions: Mapping[str, str], paint: Paint) -> str:
    """Each difference with its cause, and the counts of both plans. `actions`: the actions in both plans, by name."""
    lines = differences_lines(comparison, actions, paint) or ["The planned changes would be the same."]
    without, within = Counts.of_plan(comparison.without.plan), Counts.of_plan(comparison.within.plan)
    lines += [
        "",
        f"Without: {pending(without)}.{pending_actions(without)}",
        f"With:    {pending(within)}.{pending_actions(within)}",
    ]
    return "\n".join(lines)


def differences_lines(comparison: PlanComparison, actions: Mapping[str, str], paint: Paint) -> list[str]:
    """Each difference with its cause; instances with the same difference and the same cause are combined."""
    within = {**dict.fromkeys(actions, ""), **changed_actions(comparison.within)}

    def words(difference: Difference) -> tuple[str, list[str]]:
        known = within if _values_json(difference) else actions
        because = difference.because
        return _change(difference), root_lines(because, difference.name, known) if because is not None else []

    lines = []
    for (change, causes), those in groupby(comparison.differences, words):
        for names in alike([difference.name for difference in those]):
            lines += [f"{paint(names.text, 'bold')}: {change}", *(f"  {line}" for line in causes)]
    return lines


def _change(difference: Difference) -> str:
    if difference.without == difference.within:
        verb = words_for(difference.within).done or "planned"
        parts = [value_text(value, difference.name) for value in difference.values[:MOST_VALUES]]
        more = len(difference.values) - len(parts)
        return f"{verb} with {', '.join([*parts, *([f'{more} more'] if more > 0 else [])]) or 'different values'}"
    return f"{_word(difference.within)} instead of {_word(difference.without)}"


def value_text(value: ValueDifference, name: str) -> str:
    """The text for a value that differs in the object with this name: name 2 instead of 1."""
    what = value.what.removeprefix(name).lstrip(".") or "value"
    if value.within == "nothing":
        return f"no {what}"
    if not value.without:
        return f"a known {what}"
    if not value.within:
        return f"{what} known only after the apply"
    return f"another {what}" if value.without == value.within else f"{what} {value.within} instead of {value.without}"


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
                **({"values": values} if (values := _values_json(d)) else {}),
                **(d.because.json if d.because is not None else {}),
            }
            for d in comparison.differences
        ],
        "without": Counts.of_plan(comparison.without.plan).by_name,
        "with": Counts.of_plan(comparison.within.plan).by_name,
    }


def _values_json(difference: Difference) -> list[dict[str, str]]:
    """The values that differ although the action is the same; an unknown side is left out."""
    values = difference.values if difference.without == difference.within else ()
    rows = [(v.what, {"without": v.without, "with": v.within}) for v in values]
    return [{"what": what, **{side: text for side, text in sides.items() if text}} for what, sides in rows]
