"""The differences of two plans, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.answers.explain.causes import Because, CauseStep
from planner.answers.explain.plan_difference import ValueDifference
from planner.foundation.vocabulary.records import evolve
from planner.logic.programs.actions import NO_OP, Counts, verb_of, words_for
from planner.operations.explanations import changed_actions
from planner.operations.what_if import Difference, PlanComparison
from planner.render.alike import alike, every_key
from planner.render.cause_line import REQUESTS, root_lines, roots_sentence, words_of
from planner.render.plan import pending, pending_actions
from planner.render.terminal import Paint

MOST_OBJECTS = 20
"""the maximum number of lines about objects below a cause, if a plan is compared with the previous plan. One or two
further lines are shown, too, instead of their number"""
MOST_VALUES = 3
"""maximum number of values shown of an object"""


def what_if_text(comparison: PlanComparison, actions: Mapping[str, str], paint: Paint) -> str:
    """The text about each difference of two plans, with its cause, and about the counts of both plans. `actions`:
    {name: action} in both plans."""
    lines = differences_lines(comparison, actions, paint) or ["The planned changes would be the same."]
    without, within = Counts.of_plan(comparison.without.plan), Counts.of_plan(comparison.within.plan)
    lines += [
        "",
        f"Without: {pending(without)}.{pending_actions(without)}",
        f"With:    {pending(within)}.{pending_actions(within)}",
    ]
    return "\n".join(lines)


def differences_lines(
    comparison: PlanComparison, actions: Mapping[str, str], paint: Paint, is_next: bool = False
) -> list[str]:
    """The lines about the differences of two plans, grouped by cause. Instances with the same difference and cause are
    combined. `is_next`: whether the second plan follows the first; the causes of the second plan are then listed
    elsewhere, so hops are omitted."""
    within = {**dict.fromkeys(actions, ""), **changed_actions(comparison.within)}
    groups: dict[str, list[tuple[list[str], Difference]]] = {}
    for one in comparison.differences:
        known = within if _values_json(one) else actions
        lines = cause_lines(one, known)
        key = difference_head(one, known) if is_next else lines[0] if lines else ""
        groups.setdefault(key, []).append((lines, one))
    lines = []
    for key, those in sorted(groups.items(), key=lambda group: bool(group[0])):
        heads = {causes[0] for causes, _ in those if causes}
        lines += [*heads] if len(heads) == 1 else [key] if key else []
        changes: dict[tuple[str, ...], list[str]] = {}
        for causes, one in those:
            changes.setdefault((_change(one, is_next), *([] if is_next else causes[1:])), []).append(one.name)
        indent = "  " if key else ""
        objects: list[str] = []
        for (change, *hops), names in changes.items():
            objects += [f"{indent}{paint(alike_names.text, 'bold')}: {change}" for alike_names in alike(names)]
            objects += [f"{indent}{hop}" for hop in hops]
        shown = MOST_OBJECTS if is_next and len(objects) > MOST_OBJECTS + 2 else len(objects)
        lines += objects[:shown]
        lines += [f"{indent}... {len(objects) - shown:,} more"] if shown < len(objects) else []
    return lines


def difference_head(difference: Difference, actions: Mapping[str, str]) -> str:
    """The cause of a difference on one line; "" if it is unknown. Instances whose differences differ only in keys have
    the same line."""
    lines, because = cause_lines(difference, actions), difference.because
    if not lines or because is None or because.is_itself(difference.name):
        return lines[0] if lines else ""
    return f"{'no longer ' if lines[0].startswith('no longer') else ''}{_alike_roots(because, actions)}"


def _alike_roots(because: Because, actions: Mapping[str, str]) -> str:
    """The root causes of a difference as a sentence. Roots that differ only in keys and values are combined."""

    def combined(step: CauseStep) -> CauseStep:
        return step if step.kind == "variable" else evolve(step, what=every_key(step.what), before="", value="")

    words = dict.fromkeys(words_of(combined(step), actions) for step in because.roots)
    return roots_sentence(list(words), because.is_guess)


def cause_lines(difference: Difference, actions: Mapping[str, str]) -> list[str]:
    """The roots of a difference, then the hops of the chain; empty if the roots are unknown, or if a
    root would only repeat the change. If only the first plan
    (`without`) has the change, the first line begins with `no longer`. For a changed variable, these words are omitted,
    because the values of the variable show the direction."""
    because = difference.because
    if because is None:
        return []
    root = because.roots[0]
    lines = root_lines(because, difference.name, actions)
    if because.is_itself(difference.name):
        note = f": {root.note}" if root.note else ""
        lines = [f"because {root.what} {REQUESTS[root.kind]}{note}"] if root.kind in REQUESTS else []
    is_gone = difference.within == NO_OP and not (root.kind == "variable" and root.before)
    return [f"no longer {lines[0]}", *lines[1:]] if lines and is_gone else lines


def _change(difference: Difference, is_next: bool) -> str:
    action = difference.within
    if difference.without == action:
        verb = words_for(action).done or "planned"
        parts = [value_text(value, difference.name) for value in difference.values[:MOST_VALUES]]
        more = len(difference.values) - len(parts)
        return f"{verb} with {', '.join([*parts, *([f'{more} more'] if more > 0 else [])]) or 'different values'}"
    was = words_for(difference.without).done or "unchanged" if difference.was_planned else "not planned"
    if not difference.is_planned:
        return f"no longer planned (before: {was})" if is_next else f"would not be planned (now: {was})"
    verb = words_for(action).done or "unchanged"
    return f"will be {verb} (before: {was})" if is_next else f"would be {verb} (now: {was})"


def value_text(value: ValueDifference, name: str) -> str:
    """A value that differs: `name 2 instead of 1`, or a description if a value is missing, unknown or not shown.
    `name`: the name of the object, which is omitted from the text."""
    what = value.what.removeprefix(name).lstrip(".") or "value"
    if value.within == "nothing":
        return f"no {what}"
    if not value.without:
        return f"a known {what}"
    if not value.within:
        return f"{what} known only after the apply"
    return f"another {what}" if value.without == value.within else f"{what} {value.within} instead of {value.without}"


def what_if_json(comparison: PlanComparison) -> dict[str, Any]:
    """The differences of two plans as a JSON object. `differences`: each with `address`, the actions `without` and
    `with`, the changed `values` if there are any, and the cause as in `Because.json`. `without` and `with`: the counts
    of the plans."""
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
    """The values that differ although the actions are equal. An unknown side is omitted."""
    values = difference.values if difference.without == difference.within else ()
    rows = [(v.what, {"without": v.without, "with": v.within}) for v in values]
    return [{"what": what, **{side: text for side, text in sides.items() if text}} for what, sides in rows]
