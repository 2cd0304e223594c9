"""A plan's review document: decisions, root causes with effects, and changes, attribute by attribute, without sensitive
values. JSON Schema: `planner schema review`.

All forms of the report are built from this document: Markdown (markdown.py), the page (page.py) and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import Null
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.logic.model.plan import OutputChange, Plan, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, Counts, does, verb_of, words_for
from planner.operations.removed_blocks import REMOVED
from planner.render.cause_line import KINDS, name_of, origin_of, place_of
from planner.render.cause_summary import OUTPUT, Causes, title_of
from planner.render.diagnostics_json import sort_diagnostics
from planner.render.plan import PlanText, SchemaOf, is_shown, output_diff, pending, pending_actions
from planner.render.review.attributes import (
    UNKEPT,
    UNKNOWN,
    changed_attributes,
    place_of_line,
    shortened,
    sides,
    without_label,
)
from planner.render.review.decisions import (
    data_notes,
    decisions,
    finding_decisions,
    finding_entry,
    invocation_notes,
    policy_lines,
    with_settling,
)
from planner.render.review.links import REMOVED_BLOCK, Links
from planner.render.review.subject import ReviewSubject
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.answers.explain.cause_groups import RootCause
    from planner.answers.explain.causes import CauseStep

FORMAT = "1.0"
_NUMBER = re.compile(r"[0-9]{1,8}")
_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\]')
_NO_CALL = "no-call"
"""kind of a cause: a removed module call"""
_FEW_ATTRIBUTES = 400
"""maximum number of attributes listed for an object"""
_LONGEST_LINE = 200
"""maximum length of a line of a file, in characters"""
_LONGEST_DETAIL = 4_000
"""maximum length of a diagnostic's detail, in characters"""


def review_document(plan: Plan, schema_of: SchemaOf, causes: Causes, subject: ReviewSubject) -> dict[str, Any]:
    """A plan's review document, with members in the report's order."""
    text = PlanText(plan, schema_of, Terminal(colour=False))
    drifted = [change for change in plan.drift if change.action != NO_OP] if plan.mode == "refresh-only" else []
    changes = [
        _change(change, text, causes, subject, is_drift)
        for shown, is_drift in ((sorted(filter(is_shown, plan.changes), key=change_name), False), (drifted, True))
        for change in shown
    ]
    outputs = [_output(output, causes, subject) for output in plan.outputs if output.action != NO_OP]
    counts = Counts.of_plan(plan)
    groups = [group for group in causes.groups if group.root.what]
    attributes = {f"{one['address']}.{item['path']}": item for one in changes for item in one["attributes"]}
    has_changes = changes or outputs or plan.invocations
    title = causes.headline(pending(counts), pending_actions(counts)) if has_changes else "No changes."
    if drifted:
        title = f"Drift: {len(drifted)} object{'s' if len(drifted) > 1 else ''} changed outside planner."
    if plan.errored:
        title = "Planning failed before it was complete."
    roots = [_with_sides(_cause(group, n, causes, subject), attributes) for n, group in enumerate(groups, 1)]
    roots += _removed_blocks(causes.groups, len(roots) + 1, changes, subject)
    roots = without_repeats([with_unsettled(one, roots, changes) for one in roots], changes)
    decided = decisions(plan, changes, subject)
    bare = bare_document(title, subject)
    findings = [with_settling(one, changes) for one in bare["policies"]["findings"]]
    document = {
        **bare,
        "policies": {"findings": findings, "judged": policy_lines(subject, decided)},
        "mode": plan.mode,
        "counts": _counts(plan, counts, causes, outputs),
        "decisions": decided,
        "causes": roots,
        "uncaused": [
            {"text": title_of(group), "changes": _change_list(group.changes)}
            for group in causes.groups
            if not group.root.what and group.root.kind not in REMOVED
        ],
        "changes": sorted(changes, key=_risk),
        "outputs": outputs,
        "notes": [*causes.notes, *invocation_notes(plan), *data_notes(changes)],
        "deferred": [{"address": a, "argument": b, "place": c} for a, b, c in plan.deferred],
    }
    return dict(_without_secrets(document, subject.hide))


def bare_document(title: str, subject: ReviewSubject) -> dict[str, Any]:
    """A review document without a plan, for a failed plan or for a verdict without a plan."""
    if subject.result is not None:
        title = _result_title(subject.result)
    return {
        "format_version": FORMAT,
        "kind": subject.kind,
        "mode": "normal",
        "title": title,
        "about": dict(subject.about),
        "page": subject.links.page,
        "counts": {},
        "result": dict(subject.result) if subject.result is not None else None,
        "decisions": finding_decisions(subject.findings),
        "causes": [],
        "uncaused": [],
        "changes": [],
        "outputs": [],
        "policies": {
            "findings": [finding_entry(one, subject) for one in subject.findings],
            "judged": policy_lines(subject),
        },
        "notes": [],
        "deferred": [],
        "diagnostics": [_diagnostic(one, subject.links) for one in sort_diagnostics(subject.diagnostics)],
        "units": [],
    }


def _result_title(result: Mapping[str, Any]) -> str:
    """The title of an apply: `Applied: 2 added, 1 changed, 0 destroyed. Actions: 1 invoked.`, or the numbers up to a
    failure."""
    numbers = ", ".join(f"{result[name]} {name}" for name in ("added", "changed", "destroyed"))
    if result["succeeded"]:
        return f"Applied: {numbers}." + (f" Actions: {result['invoked']} invoked." if result.get("invoked") else "")
    return f"Apply failed: {numbers} before that."


def _without_secrets(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {key: _without_secrets(inner, hide) for key, inner in value.items()}
    return [_without_secrets(inner, hide) for inner in value] if isinstance(value, list) else value


def _counts(plan: Plan, counts: Counts, causes: Causes, outputs: Sequence[Any]) -> dict[str, int]:
    replaced = sum(does(change.action, "replaces") for change in plan.changes)
    return {
        **counts.by_name,
        "replace": replaced,
        "move": len(causes.moves),
        "outputs": len(outputs),
    }


def _risk(change: Mapping[str, Any]) -> tuple[bool, int, str]:
    risk = words_for(change["action"]).risk if change["action"] != NO_OP else 99
    ordered = _NUMBER.sub(lambda found: found[0].zfill(9), change["address"])
    return not change["stateful"], risk, ordered


# ---------------------------------------------------------------- problems


def _diagnostic(one: Diagnostic, links: Links) -> dict[str, Any]:
    place = (
        place_of_line(one.subject.filename, one.subject.start_position.line, links) if one.subject is not None else {}
    )
    return {
        "severity": one.severity,
        "summary": one.summary,
        "detail": without_label(one.detail)[:_LONGEST_DETAIL],
        "address": one.address or "",
        **({"snippet": _line_of(one.subject)} if one.subject is not None and not one.subject.source.is_secret else {}),
        **place,
    }


def _line_of(span: Span) -> str:
    """The first line of a span, without indentation."""
    return span.source.line_text(span.line).strip()[:_LONGEST_LINE]


# ---------------------------------------------------------------- causes


def _cause(group: RootCause, number: int, causes: Causes, subject: ReviewSubject) -> dict[str, Any]:
    root = group.root
    before, after = shortened(_side(root.before), _side(root.value))
    return {
        "number": number,
        "what": name_of(root),
        "kind": root.kind,
        "note": KINDS.get(root.kind, "") if root.kind != "variable" else origin_of(root),
        "before": before,
        "after": after,
        **({"elements": True} if root.has_elements else {}),
        "certain": group.is_certain,
        **_effects(group, subject),
        "hops": causes.hops(number),
        **(_removed_call(group, subject) if root.kind == _NO_CALL else _source(root, subject.links)),
    }


def _effects(group: RootCause, subject: ReviewSubject) -> dict[str, Any]:
    held = [(name, action) for name, action in group.changes if _data(name, action, subject)[0] == "holds"]
    return {
        "sets_off": _sets_off(group.changes),
        "stateful": _sets_off(held),
        "changes": _change_list(group.changes),
    }


def _data(name: str, action: str, subject: ReviewSubject) -> tuple[str, str]:
    """For a destroyed object, ("holds", "none" or "unknown", the list that contains its type); ("", "") for other
    objects."""
    if name.startswith(OUTPUT) or not does(action, "destroys"):
        return "", ""
    return subject.data.get(name) or subject.data.get(name.partition(" (")[0], ("unknown", ""))


def _with_sides(cause: dict[str, Any], attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The cause; an edited attribute without values to show gets the former and the new value from the change of this
    attribute."""
    item = attributes.get(cause["what"])
    if item is None or cause["before"] or cause["after"]:
        return cause
    after = f"{item['expression']} {UNKNOWN}" if item.get("expression") else item["after"]
    return {**cause, "before": item["before"], "after": after}


def _removed_blocks(
    groups: Iterable[RootCause], start: int, changes: list[dict[str, Any]], subject: ReviewSubject
) -> Iterator[dict[str, Any]]:
    """A cause for each block that is no longer declared. The number of the cause is added to the changes that it
    causes."""
    entries = {one["address"]: one for one in changes}
    for group in groups:
        if group.root.what or group.root.kind not in REMOVED:
            continue
        blocks: dict[str, list[tuple[str, str]]] = {}
        for name, action in group.changes:
            module = entries[name]["module"] if name in entries else ""
            is_module = REMOVED[group.root.kind] and module
            blocks.setdefault(_KEY.sub("", module if is_module else name.partition(" (")[0]), []).append((name, action))
        for number, (block, listed) in enumerate(blocks.items(), start):
            for name, _ in listed:
                if name in entries:
                    entries[name]["causes"].append(number)
            root = evolve(group.root, what=block, source=None)
            made = _effects(evolve(group, root=root, changes=tuple(listed)), subject)
            sides = {"before": "", "after": "", "note": "", "hops": [], "certain": group.is_certain}
            place = _former_place(next((name for name, _ in listed if name in subject.removed), ""), subject)
            yield {"number": number, "what": block, "kind": REMOVED_BLOCK, **sides, **made, **place}
            start += 1


def _removed_call(group: RootCause, subject: ReviewSubject) -> dict[str, Any]:
    """The kind and the former place of a removed module call."""
    names = (name for name, _ in group.changes if name in subject.removed)
    return {"kind": REMOVED_BLOCK, **_former_place(next(names, ""), subject)}


def _former_place(name: str, subject: ReviewSubject) -> dict[str, Any]:
    """The line of a removed block at a commit that contains the block, with a link. Without such a commit, only the
    file. {} if the block is unknown."""
    block = subject.removed.get(name)
    if block is None:
        return {}
    if not block.commit:
        return {"place": block.file}
    at = {"file": block.file, "line": block.line, "commit": block.commit}
    link = subject.links.of({**at, "kind": REMOVED_BLOCK})
    return {**at, **({"link": link} if link else {})}


def _side(side: str) -> str:
    """The text of one side of a change; "" for an absent value."""
    return "" if side == "nothing" else side


def _source(root: CauseStep, links: Links) -> dict[str, Any]:
    source = root.source
    if source is None:
        return {}
    if isinstance(source, Span):
        return place_of_line(source.filename, source.start_position.line, links)
    return {"place": place_of(source)}


def _sets_off(changes: Sequence[tuple[str, str]]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name, action in changes:
        verb = "output" if name.startswith(OUTPUT) else verb_of(action)
        numbers[verb] = numbers.get(verb, 0) + 1
    return dict(sorted(numbers.items(), key=lambda item: item[0] == "output"))


def _change_list(changes: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"address": name, "action": verb_of(action)} for name, action in changes]


# ---------------------------------------------------------------- changes


def _change(
    change: ResourceChange, text: PlanText, causes: Causes, subject: ReviewSubject, is_drift: bool
) -> dict[str, Any]:
    name = change_name(change)
    attributes = list(changed_attributes(text.difference(change, is_drift), subject.hide))
    if is_drift or does(change.action, "ends"):
        attributes = [item for item in attributes if item["after"] != UNKEPT]
    if change.importing is not None and change.action == NO_OP:  # for an import, all attributes are shown
        now = text.difference(evolve(change, action="create", before=Null()), False)
        attributes = [{**item, "action": NO_OP} for item in changed_attributes(now, subject.hide)]
    for item in attributes[:_FEW_ATTRIBUTES] if change.action != "create" else ():
        if item["after"] == UNKNOWN and (expression := subject.hide(subject.written(change.address, item["path"]))):
            item["expression"] = expression
    place = subject.declared(change.address)
    data, by = ("", "") if is_drift or change.mode != "managed" else _data(name, change.action, subject)
    return {
        "address": name,
        "action": change.action,
        "verb": verb_of(change.action),
        "reason": change.reason,
        "type": change.type,
        "module": change.module,
        "stateful": data == "holds",
        "data": data,
        "data_by": by,
        "previous_address": change.previous_address if change.previous_address != change.address else "",
        "imported": change.importing is not None,
        "import_id": (change.importing.id or "") if change.importing is not None else "",
        "is_drift": is_drift,
        "causes": _numbers(name, causes),
        "attributes": attributes[:_FEW_ATTRIBUTES],
        "attributes_left_out": max(0, len(attributes) - _FEW_ATTRIBUTES),
        "undecided": list(change.undecided),
        **(place_of_line(place.filename, place.start_position.line, subject.links) if place is not None else {}),
    }


def _output(output: OutputChange, causes: Causes, subject: ReviewSubject) -> dict[str, Any]:
    before, after = (subject.hide(side) for side in sides(output_diff(output)))
    before, after = shortened(before, after)
    return {
        "name": output.name,
        "action": output.action,
        "before": before,
        "after": after,
        "causes": _numbers(f"{OUTPUT}{output.name}", causes),
        "read_by": [],
    }


def _numbers(name: str, causes: Causes) -> list[int]:
    """The numbers of a change's root causes, without repetitions."""
    because = causes.chains.get(name)
    roots = because.roots if because is not None else ()
    numbers = (causes.numbers.get((root.what, root.kind)) for root in roots)
    return list(dict.fromkeys(number for number in numbers if number is not None))


# An unknown value can have two causes: the edit of its argument, and the change of the object to which the argument now
# refers


def with_unsettled(
    cause: dict[str, Any], causes: Sequence[Mapping[str, Any]], changes: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """A cause, with the numbers of the edits whose new values it makes unknown (`unsettles`). The new value of such an
    edit depends on an object that the cause changes."""
    edits = {one["what"]: one["number"] for one in causes if one["after"].endswith(UNKNOWN)}
    numbers = [
        edits[what]
        for change in changes
        if cause["number"] in change["causes"]
        for item in change["attributes"]
        if (what := f"{change['address']}.{item['path']}") in edits and edits[what] != cause["number"]
    ]
    return {**cause, "unsettles": numbers} if numbers else cause


def without_repeats(causes: list[dict[str, Any]], changes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The causes, without some repetitions of changes. A cause can make the new values of edits unknown. An object that
    changes only because of such edits is listed only below the edits. It is also listed below the cause if the cause
    has no other changes, or if attributes of the change are omitted."""
    edits = {one["what"]: one["number"] for one in causes if one["after"].endswith(UNKNOWN)}
    for change in changes:
        items = {f"{change['address']}.{item['path']}": item for item in change["attributes"]}
        own = [edits[path] for path in items if path in edits]
        computed = all(
            item["after"] == UNKNOWN and "expression" not in item for p, item in items.items() if p not in edits
        )
        if not own or not computed or change["attributes_left_out"]:
            continue
        others = {n for n in change["causes"] if n not in own and len(causes[n - 1]["changes"]) > 1}
        for number in others:
            causes[number - 1] = _without(causes[number - 1], change)
        change["causes"] = [number for number in change["causes"] if number not in others]
    return causes


def _without(cause: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A cause without one of its changes, and with lower numbers of changes."""
    verb = change["verb"]
    fewer = {
        name: {word: n - (word == verb) for word, n in cause[name].items() if n > (word == verb)}
        for name in ("sets_off", *["stateful"] * change["stateful"])
    }
    return {**cause, **fewer, "changes": [one for one in cause["changes"] if one["address"] != change["address"]]}
