"""The review document of a plan: what needs a decision, the root causes with what each sets off, and the changes,
attribute by attribute. Nothing in it shows a sensitive value. Its JSON Schema is `planner schema review`.

All forms of the report are made of it: Markdown (markdown.py), the page (page.py) and JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.model.plan import OutputChange, Plan, ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, Counts, does, verb_of, words_for
from planner.render.cause_line import KINDS, name_of, origin_of, place_of
from planner.render.cause_summary import OUTPUT, Causes, title_of
from planner.render.diagnostics_json import sort_diagnostics
from planner.render.plan import PlanText, SchemaOf, is_shown, output_diff, pending
from planner.render.review.attributes import UNKEPT, UNKNOWN, changed_attributes, shortened, sides
from planner.render.review.links import Links
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.answers.explain.causes import CauseStep, RootCause
    from planner.answers.policy.model import Finding

FORMAT = "1.0"
_NUMBER = re.compile(r"[0-9]{1,8}")
_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[0-9]+\]')
_FEW_ATTRIBUTES = 400
"""attributes of one object in the document"""
_LONGEST_LINE = 200
"""characters of a line of a file"""
_LONGEST_DETAIL = 4_000
"""characters of the detail of a diagnostic"""


@frozen(eq=False)
class ReviewSubject:
    """The parts of a report besides the plan: `kind` is plan, apply or policy; `about` names the workspace, the state,
    the revision and the file of the plan, as far as they are known."""

    kind: str = "plan"
    about: Mapping[str, Any] = field(factory=dict)
    links: Links = field(factory=Links)
    findings: Sequence[Finding] = ()
    judged: Sequence[str] = ()
    """lines about the objects that policies looked at"""
    stateful: frozenset[str] = frozenset()
    """addresses of objects that hold data"""
    diagnostics: Sequence[Diagnostic] = ()
    declared: Callable[[str], Span | None] = field(default=lambda address: None)
    """the declaration of an object, by its address"""
    written: Callable[[str, str], str] = field(default=lambda address, path: "")
    """the expression of an attribute, by the address of the object and its path; "" where it is not written"""
    hide: Callable[[str], str] = field(default=lambda text: text)
    """replaces sensitive strings"""
    result: Mapping[str, Any] | None = None
    """of an apply: `succeeded`, and the numbers `added`, `changed` and `destroyed`"""


def review_document(plan: Plan, schema_of: SchemaOf, causes: Causes, subject: ReviewSubject) -> dict[str, Any]:
    """The document, in the order of the report."""
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
    title = causes.headline(pending(counts)) if changes or outputs else "No changes."
    if drifted:
        title = f"Drift: {len(drifted)} object{'s' if len(drifted) > 1 else ''} changed outside."
    if plan.errored:
        title = "Planning failed half-way."
    roots = [_with_sides(_cause(group, n, causes, subject), attributes) for n, group in enumerate(groups, 1)]
    roots += _removed_blocks(causes.groups, len(roots) + 1, changes, subject)
    document = {
        **bare_document(title, subject),
        "mode": plan.mode,
        "counts": _counts(plan, counts, causes, outputs),
        "decisions": _decisions(plan, changes, subject),
        "causes": roots,
        "uncaused": [
            {"text": title_of(group), "changes": _change_list(group.changes)}
            for group in causes.groups
            if not group.root.what and group.root.kind not in _REMOVED
        ],
        "changes": sorted(changes, key=_risk),
        "outputs": outputs,
        "notes": [*causes.notes],
        "deferred": [{"address": a, "argument": b, "place": c} for a, b, c in plan.deferred],
    }
    return dict(_without_secrets(document, subject.hide))


def bare_document(title: str, subject: ReviewSubject) -> dict[str, Any]:
    """The document without a plan: of one that failed, or of a verdict alone."""
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
        "decisions": _finding_decisions(subject.findings),
        "causes": [],
        "uncaused": [],
        "changes": [],
        "outputs": [],
        "policies": {
            "findings": [_finding(one, subject.links) for one in subject.findings],
            "judged": [*subject.judged],
        },
        "notes": [],
        "deferred": [],
        "diagnostics": [_diagnostic(one, subject.links) for one in sort_diagnostics(subject.diagnostics)],
        "units": [],
    }


def _result_title(result: Mapping[str, Any]) -> str:
    """`Applied: 2 added, 1 changed, 0 destroyed.`"""
    numbers = ", ".join(f"{result[name]} {name}" for name in ("added", "changed", "destroyed"))
    if result["succeeded"]:
        return f"Applied: {numbers}."
    return f"Apply failed: {numbers} before that. Below is the plan; planner plan shows what is left of it."


def _without_secrets(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {key: _without_secrets(inner, hide) for key, inner in value.items()}
    return [_without_secrets(inner, hide) for inner in value] if isinstance(value, list) else value


def _counts(plan: Plan, counts: Counts, causes: Causes, outputs: Sequence[Any]) -> dict[str, int]:
    replaced = sum(does(change.action, "replaces") for change in plan.changes)
    return {
        "add": counts.add,
        "change": counts.change,
        "remove": counts.remove,
        "import": counts.imports,
        "forget": counts.forget,
        "replace": replaced,
        "move": len(causes.moves),
        "outputs": len(outputs),
    }


def _risk(change: Mapping[str, Any]) -> tuple[bool, int, str]:
    risk = words_for(change["action"]).risk if change["action"] != NO_OP else 99
    ordered = _NUMBER.sub(lambda found: found[0].zfill(9), change["address"])
    return not (change["stateful"] and does(change["action"], "destroys")), risk, ordered


# ---------------------------------------------------------------- what needs a decision


def _decisions(plan: Plan, changes: Sequence[Mapping[str, Any]], subject: ReviewSubject) -> list[dict[str, Any]]:
    """The reasons to look closely, the gravest first: each with its objects."""
    # decided in Python: the order and grouping in a review -- rules derived the actions, verdicts and undecided values
    removed = [c for c in changes if does(c["action"], "removes") and not does(c["action"], "replaces")]
    replaced = [c for c in changes if does(c["action"], "replaces")]
    if plan.mode == "refresh-only":  # what is gone is gone
        removed = replaced = []
    outside = [] if subject.kind == "drift" else [c for c in changes if c["is_drift"]]
    return [
        *_reasons(
            ("drift_gone", "destroyed outside", (c["address"] for c in outside if c["action"] == "delete")),
            ("drift_changed", "changed outside", (c["address"] for c in outside if c["action"] != "delete")),
        ),
        *_reasons(
            ("destroys_stateful", "destroyed, holding data", (c["address"] for c in removed if c["stateful"])),
            *_by_order("replaces_stateful", ", holding data", [c for c in replaced if c["stateful"]]),
        ),
        *_finding_decisions(subject.findings, ("deny", "broken")),
        *_reasons(
            ("destroys", "destroyed", (c["address"] for c in removed if not c["stateful"])),
            *_by_order("replaces", "", [c for c in replaced if not c["stateful"]]),
            ("deferred", "left for a later plan", (block for block, _, _ in plan.deferred)),
            ("unresolved", "undecided without its provider", (c["address"] for c in changes if c["undecided"])),
        ),
        *_finding_decisions(subject.findings, ("undecided", "warn")),
    ]


def _by_order(kind: str, more: str, changes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, list[str]]]:
    """Replaced objects by the order of the steps."""
    for order, starts in (("destroyed first", ("delete", "forget")), ("created first", ("create",))):
        yield kind, f"replaced, {order}{more}", [c["address"] for c in changes if c["action"].startswith(starts)]


def _finding_decisions(
    findings: Sequence[Finding], kinds: Sequence[str] = ("deny", "broken", "undecided", "warn")
) -> list[dict[str, Any]]:
    words = {
        "deny": "denied by policy, so the apply is blocked",
        "broken": "not decidable by policy, so the apply is blocked",
        "undecided": "not decided before the apply",
        "warn": "warned of by policy",
    }
    named = [(one.kind, f"{one.code}: {one.address or 'the plan'}") for one in findings]
    return _reasons(*((kind, words[kind], [name for other, name in named if other == kind]) for kind in kinds))


def _reasons(*kinds: tuple[str, str, Iterable[str]]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "text": text, "objects": objects}
        for kind, text, given in kinds
        if (objects := list(dict.fromkeys(given)))
    ]


def _diagnostic(one: Diagnostic, links: Links) -> dict[str, Any]:
    place = _place(one.subject.filename, one.subject.start_position.line, links) if one.subject is not None else {}
    return {
        "severity": one.severity,
        "summary": one.summary,
        "detail": one.detail[:_LONGEST_DETAIL],
        "address": one.address or "",
        **({"snippet": _line_of(one.subject)} if one.subject is not None and not one.subject.source.is_secret else {}),
        **place,
    }


def _line_of(span: Span) -> str:
    """The first line of a span."""
    return span.source.line_text(span.line).strip()[:_LONGEST_LINE]


def _finding(finding: Finding, links: Links) -> dict[str, Any]:
    place, rule = {}, finding.rule_span
    if finding.span is not None:
        place = _place(finding.span.filename, finding.span.start_position.line, links)
    return {
        "kind": finding.kind,
        "code": finding.code,
        "address": finding.address,
        "message": f"{finding.meaning}: {finding.message}" if finding.meaning else finding.message,
        "reason": finding.reason,
        **({"would": finding.would} if finding.kind == "undecided" else {}),
        **({"rule": _place(rule.filename, rule.start_position.line, links)} if rule is not None else {}),
        **place,
    }


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
        **_source(root, subject.links),
    }


def _effects(group: RootCause, subject: ReviewSubject) -> dict[str, Any]:
    held = [(name, action) for name, action in group.changes if name in subject.stateful and does(action, "destroys")]
    return {
        "sets_off": _sets_off(group.changes),
        "stateful": _sets_off(held),
        "changes": _change_list(group.changes),
    }


def _with_sides(cause: dict[str, Any], attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An edited attribute whose value is not known has the sides of its change."""
    item = attributes.get(cause["what"])
    if item is None or cause["before"] or cause["after"]:
        return cause
    after = f"{item['expression']} {UNKNOWN}" if item.get("expression") else item["after"]
    return {**cause, "before": item["before"], "after": after}


_REMOVED = {"delete_because_no_resource_config": False, "delete_because_no_module": True}
"""kinds of changes without another cause than that their block is no longer declared: whether that is a module's"""


def _removed_blocks(
    groups: Iterable[RootCause], start: int, changes: list[dict[str, Any]], subject: ReviewSubject
) -> Iterator[dict[str, Any]]:
    """A cause for each block that is no longer declared."""
    entries = {one["address"]: one for one in changes}
    for group in groups:
        if group.root.what or group.root.kind not in _REMOVED:
            continue
        blocks: dict[str, list[tuple[str, str]]] = {}
        for name, action in group.changes:
            module = entries[name]["module"] if name in entries else ""
            is_module = _REMOVED[group.root.kind] and module
            blocks.setdefault(_KEY.sub("", module if is_module else name.partition(" (")[0]), []).append((name, action))
        for number, (block, listed) in enumerate(blocks.items(), start):
            for name, _ in listed:
                if name in entries:
                    entries[name]["causes"].append(number)
            root = evolve(group.root, what=block, source=None)
            made = _effects(evolve(group, root=root, changes=tuple(listed)), subject)
            sides = {"before": "", "after": "", "note": "", "hops": [], "certain": group.is_certain}
            yield {"number": number, "what": block, "kind": "removed_block", **sides, **made}
            start += 1


def _side(side: str) -> str:
    """A side of a cause: "" where there is nothing."""
    return "" if side == "nothing" else side


def _source(root: CauseStep, links: Links) -> dict[str, Any]:
    source = root.source
    if source is None:
        return {}
    if isinstance(source, Span):
        return _place(source.filename, source.start_position.line, links)
    return {"place": place_of(source)}


def _place(filename: str, line: int, links: Links) -> dict[str, Any]:
    link = links.to(filename, line)
    return {"file": filename, "line": line, **({"link": link} if link else {})}


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
    if is_drift:
        attributes = [item for item in attributes if item["after"] != UNKEPT]
    for item in attributes[:_FEW_ATTRIBUTES] if change.action != "create" else ():
        if item["after"] == UNKNOWN and (expression := subject.hide(subject.written(change.address, item["path"]))):
            item["expression"] = expression
    place = subject.declared(change.address)
    return {
        "address": name,
        "action": change.action,
        "verb": verb_of(change.action),
        "reason": change.reason,
        "type": change.type,
        "module": change.module,
        "stateful": change.address in subject.stateful,
        "previous_address": change.previous_address if change.previous_address != change.address else "",
        "imported": change.importing is not None,
        "import_id": (change.importing.id or "") if change.importing is not None else "",
        "is_drift": is_drift,
        "causes": _numbers(name, causes),
        "attributes": attributes[:_FEW_ATTRIBUTES],
        "attributes_left_out": max(0, len(attributes) - _FEW_ATTRIBUTES),
        "undecided": list(change.undecided),
        **(_place(place.filename, place.start_position.line, subject.links) if place is not None else {}),
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
    """The numbers of the causes of a change."""
    because = causes.chains.get(name)
    roots = because.roots if because is not None else ()
    numbers = (causes.numbers.get((root.what, root.kind)) for root in roots)
    return list(dict.fromkeys(number for number in numbers if number is not None))
