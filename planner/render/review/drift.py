"""The review of drift: each attribute that was changed outside planner, and the effect of an apply on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.records import evolve
from planner.logic.model.plan import ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, verb_of
from planner.render.diff_block import SchemaLookup
from planner.render.page.page import hiding
from planner.render.plan import PlanText
from planner.render.review.attributes import CHANGED, FATES, KEPT, OPEN, RESTORED, UNKNOWN, changed_attributes, remark
from planner.render.review.of_plan import plan_review
from planner.render.review.subject import ReviewSubject
from planner.render.terminal import Paint, Terminal

if TYPE_CHECKING:
    from planner.operations.plan import MadePlan

_TIMES = re.compile(r"(date_)?(last_)?(modified|modification|updated?)(_(at|on|date|time))?")
_AUTHORS = re.compile(r"(last_)?(modified|updated)_(by|user)|modifier|last_editor")
REPORT = " This is a report: there is nothing to approve."
_AROUND = ("system_data", "metadata", "properties")
"""attributes that may contain the time or author of a change outside planner"""


def drift_review(drifted: MadePlan[Any], planned: MadePlan[Any] | None, subject: ReviewSubject) -> dict[str, Any]:
    """The document of a refresh-only plan. `planned`: the normal plan of the configuration, which shows the effect of
    an apply on each drifted object; None if planning failed."""
    document, hide = plan_review(drifted, evolve(subject, kind="drift")), hiding(drifted.plan)
    text = PlanText(drifted.plan, SchemaLookup(drifted.loaded.schemas).resource_schema, Terminal(colour=False))
    changes = {hide(change_name(change)): change for change in drifted.plan.drift if change.action != NO_OP}
    answers = {hide(change_name(change)): change for change in planned.plan.changes} if planned is not None else {}
    for entry in document["changes"]:
        change = changes[entry["address"]]
        answer = answers.get(entry["address"])
        at, by = modification(change.after)
        entry["drift"] = {
            "planned": verb_of(answer.action) if answer is not None else "",
            "outcome": OPEN,
            "modified_at": hide(at),
            "modified_by": hide(by),
        }
        if planned is not None:
            _judge(entry, change, answer, text, hide)
    number = len(document["changes"])
    gone = sum(one["action"] == "delete" for one in document["changes"])
    parts = [f"{n:,} {word} outside planner" for n, word in ((gone, "destroyed"), (number - gone, "changed")) if n]
    document["title"] = f"Drift: {', '.join(parts)}.{REPORT}" if parts else "No drift."
    document["decisions"] = [*document["decisions"], *drift_decisions(document["changes"])]
    return document


def _judge(
    entry: dict[str, Any],
    change: ResourceChange,
    answer: ResourceChange | None,
    text: PlanText,
    hide: Callable[[str], str],
) -> None:
    """Add the effect of the next apply (the outcome) on a drifted object and its attributes. For this, the values after
    the next apply are compared with the values after the last apply."""
    # decided in Python: the effect of an apply on drift -- it compares two plans, whose actions rules decided
    if change.action == "delete":
        entry["drift"]["outcome"] = KEPT if answer is None or answer.action == NO_OP else RESTORED
        return
    after = change.after if answer is None or answer.action == NO_OP else answer.after
    left = list(changed_attributes(text.difference(evolve(change, after=after), True), hide))
    for item in entry["attributes"]:
        item["outcome"] = _outcome(item, left)
        next_one = (other["after"] for other in left if other["path"] == item["path"])
        sides = {RESTORED: item["before"], KEPT: item["after"], CHANGED: next(next_one, None)}
        if (expected := sides.get(item["outcome"])) is not None:
            item["expected"] = expected
    outcomes = {item["outcome"] for item in entry["attributes"]} - {OPEN}
    entry["drift"]["outcome"] = outcomes.pop() if len(outcomes) == 1 else CHANGED if outcomes else OPEN


def _outcome(item: Mapping[str, Any], left: Iterable[Mapping[str, Any]]) -> str:
    """The effect of the next apply on a drifted attribute. `left`: the places whose values after the next apply will
    still differ from their values after the last apply."""
    same = [
        other for other in left if _is_within(item["path"], other["path"]) or _is_within(other["path"], item["path"])
    ]
    if not same:
        return RESTORED
    if all(other["after"] == UNKNOWN for other in same):
        return OPEN
    return KEPT if any(other["after"] == item["after"] for other in same) else CHANGED


def _is_within(path: str, outer: str) -> bool:
    return path == outer or (path.startswith(outer) and path[len(outer)] in ".[")


def drift_decisions(changes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Decisions about drifted objects, grouped by the effect of an apply."""
    gone = [one for one in changes if one["action"] == "delete"]
    changes = [one for one in changes if one["action"] != "delete"]
    kinds = (
        (RESTORED, "changed outside planner; an apply restores the applied values"),
        (KEPT, "changed outside planner; the configuration keeps the change"),
        (CHANGED, "changed outside planner; the configuration restores it in part, or changes it again"),
        (OPEN, "changed outside planner; the effect of an apply is not known"),
    )
    named = (
        (
            kind,
            f"{text}{how}",
            [one["address"] for one in changes if (one["drift"]["outcome"], _way(one)) == (kind, how)],
        )
        for kind, text in kinds
        for how in (", by replacing it", ", in place", "")
    )
    lost = (
        ("gone", f"destroyed outside{text}", [one["address"] for one in gone if one["drift"]["outcome"] in outcomes])
        for text, outcomes in (
            ("; an apply creates it again, without the data that it contained", (RESTORED,)),
            ("; an apply forgets it", (KEPT,)),
            ("", (CHANGED, OPEN)),
        )
    )
    return [
        {"kind": f"drift_{kind}", "text": text, "objects": objects}
        for kind, text, objects in (*lost, *named)
        if objects
    ]


def _way(change: Mapping[str, Any]) -> str:
    """The way in which an apply changes a drifted object: `, by replacing it`, `, in place`, or ""."""
    drift = change["drift"]
    is_changed = drift["outcome"] in (RESTORED, CHANGED)
    return {"replace": ", by replacing it", "update": ", in place" * is_changed}.get(drift["planned"], "")


def modification(value: Value) -> tuple[str, str]:
    """(time, author) of an object's last modification, if its provider records it; "" otherwise."""
    if not isinstance(value, Mapping):
        return "", ""
    inner = (value.get(name) for name in _AROUND)
    around = (one[0] if isinstance(one, (list, tuple)) and len(one) == 1 else one for one in inner)
    parts = [part for part in (value, *around) if isinstance(part, Mapping)]
    strings = [(name, text) for part in parts for name, text in sorted(part.items()) if isinstance(text, str) and text]
    at, by = (next((text for name, text in strings if names.fullmatch(name)), "") for names in (_TIMES, _AUTHORS))
    return at, by


def drift_lines(document: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """The lines of a drift report on a terminal."""
    serial = document["about"].get("serial")
    yield paint(
        f"{document['title'].removesuffix(REPORT).rstrip('.')}{f' since state serial {serial}' if serial else ''}.",
        "bold",
    )
    for one in document["changes"]:
        yield ""
        yield f"  {paint(one['address'], 'bold')} {remark(one)}"
        if one["action"] == "delete":
            continue
        for item in one["attributes"]:
            yield f"      {item['path']}: {item['before'] or 'nothing'} -> {item['after'] or 'nothing'}{fate_of(item)}"
        if one["attributes_left_out"]:
            yield f"      and {one['attributes_left_out']:,} more attributes"
    if document["changes"]:
        yield ""
        yield "To apply the configuration: planner apply. To record this in the state: planner apply -refresh-only."


def fate_of(item: Mapping[str, Any]) -> str:
    """The effect of an apply on a drifted attribute, `   (an apply restores it)`; "" if the effect is not known."""
    return f"   ({FATES[item['outcome']]})" if "outcome" in item else ""
