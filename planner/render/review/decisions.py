"""A review's decisions: destroyed objects, verdicts of policies, undecided parts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.address import parse_resource_instance
from planner.logic.model.plan import Plan
from planner.logic.programs.actions import does
from planner.render.review.attributes import place_of_line
from planner.render.review.subject import ReviewSubject

if TYPE_CHECKING:
    from planner.answers.policy.model import Finding
    from planner.render.review.subject import ReviewSubject

GRAVE = frozenset(
    (
        *("destroys_stateful", "replaces_stateful", "deny", "broken", "failed"),
        *("result_lost", "result_left", "result_tainted", "result_failed"),
    )
)
"""kinds of decisions about lost data, denied changes and failed changes"""
_HELD = (
    ("holds", "_stateful", "containing data"),
    ("unknown", "_unknown", "possibly containing data"),
    ("none", "", "listed as containing no data"),
)
"""(whether objects hold data, suffix of the decision's kind, description)"""
_GUARD = "protect_stateful"
_MOST_POLICIES = 12
_MOST_CALLERS = 4


def decisions(plan: Plan, changes: Sequence[Mapping[str, Any]], subject: ReviewSubject) -> list[dict[str, Any]]:
    """Reasons to review the plan closely, the gravest first, each with its objects."""
    # decided in Python: the order and grouping in a review -- this only presents decisions of rules
    removed = [c for c in changes if does(c["action"], "removes")]
    replaced = [c for c in changes if does(c["action"], "replaces")]
    if plan.mode == "refresh-only":  # in this mode, the plan only records that objects no longer exist
        removed = replaced = []
    outside = [] if subject.kind == "drift" else [c for c in changes if c["is_drift"]]
    lost, *others = ([*_of_data(held, end, text, removed, replaced)] for held, end, text in _HELD)
    return [
        *reasons(
            ("drift_gone", "destroyed outside planner", (c["address"] for c in outside if c["action"] == "delete")),
            ("drift_changed", "changed outside planner", (c["address"] for c in outside if c["action"] != "delete")),
        ),
        *reasons(*lost),
        *finding_decisions(subject.findings, ("deny", "broken")),
        *reasons(
            *(one for listed in others for one in listed),
            ("deferred", "left for a later plan", (block for block, _, _ in plan.deferred)),
            (
                "unresolved",
                "undecided because its provider is not called",
                (c["address"] for c in changes if c["undecided"]),
            ),
        ),
        *finding_decisions(subject.findings, ("undecided", "warn")),
    ]


def _of_data(
    held: str, end: str, text: str, removed: Sequence[Mapping[str, Any]], replaced: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, list[str]]]:
    """(kind, text, objects) of the decisions about the objects whose `data` is `held`. The objects are grouped by the
    list in protect_stateful that contains their type ("" for none), and by the order of a replacement. A decision may
    have no objects. `end`, `text`: see _HELD."""
    orders = (("destroyed first", ("delete", "forget")), ("created first", ("create",)))
    emptied = "; each new object starts empty" if end else ""
    for by in sorted({c.get("data_by", "") for c in (*removed, *replaced) if c["data"] == held}):
        ground = f" (by {by} of {_GUARD})" if by else f" ({_GUARD} does not list the type)" if held == "unknown" else ""
        gone, anew = (
            [c for c in some if (c["data"], c.get("data_by", "")) == (held, by)] for some in (removed, replaced)
        )
        yield f"destroys{end}", f"destroyed, {text}{ground}", [c["address"] for c in gone]
        for order, starts in orders:
            named = [c["address"] for c in anew if c["action"].startswith(starts)]
            yield f"replaces{end}", f"replaced, {order}, {text}{emptied}{ground}", named


def finding_decisions(
    findings: Sequence[Finding], kinds: Sequence[str] = ("deny", "broken", "undecided", "warn")
) -> list[dict[str, Any]]:
    """The decisions about findings of these kinds, one for each kind that has findings."""
    words = {
        "deny": "denied by policy, so the apply is blocked",
        "broken": "a policy cannot be decided, so the apply is blocked",
        "undecided": "not decided before the apply",
        "warn": "with a warning by policy",
    }
    named = [(one.kind, f"{one.code}: {one.address or 'the plan'}") for one in findings]
    return reasons(*((kind, words[kind], [name for other, name in named if other == kind]) for kind in kinds))


def reasons(*kinds: tuple[str, str, Iterable[str]]) -> list[dict[str, Any]]:
    """A decision for each (kind, text, objects) in `kinds` that has objects."""
    return [
        {"kind": kind, "text": text, "objects": objects}
        for kind, text, given in kinds
        if (objects := list(dict.fromkeys(given)))
    ]


def data_notes(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """A note about destroyed objects of unknown types: they are not in the list of types that hold data, and not in the
    list of types that hold none."""
    types = sorted({one["type"] for one in changes if one["data"] == "unknown" and not one["is_drift"]})
    if not types:
        return []
    shown = ", ".join(types[:_MOST_POLICIES]) + (", ..." if len(types) > _MOST_POLICIES else "")
    return [
        f"It is not known whether objects of these types contain data: {shown}. Approve only if you know that their "
        f"contents may be lost. The parameters stateful_type and stateless_type of {_GUARD} can name the types."
    ]


def invocation_notes(plan: Plan) -> list[str]:
    """A note on each invoked action: how many times it is invoked, and by which objects."""
    callers: dict[str, list[str]] = defaultdict(list)
    for one in plan.invocations:
        address = str(parse_resource_instance(one.address).config)
        callers[address].append(f"{one.caller} ({one.event})" if one.event else one.caller or "the command line")
    notes = []
    for address, by in callers.items():
        shown = ", ".join(by[:_MOST_CALLERS]) + (f" and {len(by) - _MOST_CALLERS} more" if by[_MOST_CALLERS:] else "")
        notes.append(f"{address} is invoked {f'{len(by)} times, ' if len(by) > 1 else ''}by {shown}.")
    return notes


def policy_lines(subject: ReviewSubject, decided: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """The lines about the checked policies. A remark is added if an object that may hold data is destroyed, but the
    policy that protects data was not checked. If the checked policies are unknown, the result has only the lines about
    checked objects."""
    if subject.checked is None:
        return [*subject.judged]
    codes = sorted(subject.checked)
    is_destroying = any(one["kind"].endswith(("_stateful", "_unknown")) for one in decided)
    unguarded = is_destroying and _GUARD not in codes
    if not codes:
        return ["No policy was checked, so no policy protects the data of destroyed objects."] if unguarded else []
    named = ", ".join(codes[:_MOST_POLICIES])
    more = f" and {len(codes) - _MOST_POLICIES} more" if len(codes) > _MOST_POLICIES else ""
    kinds = {one.kind for one in subject.findings}
    result = "" if kinds & {"deny", "broken", "undecided", "warn"} else "; none denies the plan"
    result = f", but not {_GUARD}, which protects the data of destroyed objects" if unguarded else result
    return [f"Policies checked: {named}{more}{result}.", *subject.judged]


def finding_entry(finding: Finding, subject: ReviewSubject) -> dict[str, Any]:
    """A verdict as an entry of the review document."""
    place, rule = {}, finding.rule_span
    if finding.span is not None:
        place = place_of_line(finding.span.filename, finding.span.start_position.line, subject.links)
    is_open = finding.kind == "undecided"
    message = finding.meaning if is_open else finding.message
    return {
        "kind": finding.kind,
        "code": finding.code,
        "address": finding.address,
        "message": message or finding.message,
        "reason": finding.reason,
        **({"would": finding.would, "waits_for": list(_waits(finding, subject))} if is_open else {}),
        **({"rule": place_of_line(rule.filename, rule.start_position.line, subject.links)} if rule is not None else {}),
        **place,
    }


def with_settling(finding: dict[str, Any], changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A verdict, with `settled_by` added to each value for which it waits: the objects that the value's expression
    names, and that change before the verdict is decided."""
    waits = [
        {**one, "settled_by": named}
        if (named := [_settling(change) for change in changes if _names(one["expression"], change)])
        else one
        for one in finding.get("waits_for") or ()
    ]
    return {**finding, "waits_for": waits} if waits else finding


def _settling(change: Mapping[str, Any]) -> dict[str, str]:
    return {"address": change["address"], "action": change["action"]}


def _names(expression: str, change: Mapping[str, Any]) -> bool:
    block = re.escape(change["address"].partition("[")[0])
    return not change["is_drift"] and bool(re.search(rf"(?<![\w.-]){block}(?![\w-])", expression))


def _waits(finding: Finding, subject: ReviewSubject) -> Iterator[dict[str, str]]:
    """Unknown values on which a verdict depends, with their expressions. The value of an expression becomes known
    before the object changes, a value from the provider only afterwards."""
    for *_, address, path in finding.waits_for:
        expression = subject.written(address, path)
        is_declared = subject.declared(address) is not None
        known = "" if not is_declared else "before" if expression else "after"
        yield {"address": address, "path": path, "expression": expression, "known": known}
