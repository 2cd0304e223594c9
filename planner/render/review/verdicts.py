"""Verdicts of policies as Markdown, and names and places in all parts of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from planner.logic.programs.actions import does, words_for
from planner.render.alike import AlikeNames, alike, numbered
from planner.render.review.literal import address, code, prose

MOST_NAMED = 4
_MOST_INLINE = 4
"""maximum number of groups of verdicts of a kind that are listed among the decisions"""


def name_list(names: Iterable[str]) -> str:
    """A list of names as Markdown: the first names, with similar names combined, and the number of further names."""
    counts = {one.text: one.number for one in alike(names)}
    items = [AlikeNames(one.text, counts.get(one.text, one.number)) for one in numbered(counts)]
    shown = [code(item.text) + (f" ({item.number:,})" if item.number > 2 else "") for item in items[:MOST_NAMED]]
    left = sum(item.number for item in items[MOST_NAMED:])
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def place_link(one: Mapping[str, Any], before: str = " ") -> str:
    """The file and the line of a place, as a link if possible; "" without a file."""
    if not one.get("file"):
        return ""
    place = code(f"{one['file']}:{one['line']}")
    return f"{before}[{place}]({address(one['link'])})" if one.get("link") else f"{before}{place}"


def places_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(noun, name) of the directory in the repository and of the workspace that a report is about, if they are
    known."""
    about = document["about"]
    if about.get("directory") == ".":
        yield "Root directory", ""
    elif about.get("directory"):
        yield "Directory", about["directory"]
    if about.get("workspace"):
        yield "workspace" if about.get("directory") else "Workspace", about["workspace"]


def inline_findings(document: Mapping[str, Any]) -> dict[str, list[list[Mapping[str, Any]]]]:
    """{kind: groups of findings with the same message}, for the kinds that need a decision and have few groups. These
    groups are shown one by one among the decisions."""
    kinds: dict[str, list[list[Mapping[str, Any]]]] = {}
    for group in _alike(document):
        kinds.setdefault(group[0]["kind"], []).append(group)
    decided = {one["kind"] for one in document["decisions"]}
    return {kind: groups for kind, groups in kinds.items() if kind in decided and len(groups) <= _MOST_INLINE}


def _alike(document: Mapping[str, Any]) -> Iterable[list[Mapping[str, Any]]]:
    """Groups of findings with the same kind, code, message and reason."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in document["policies"]["findings"]:
        groups.setdefault((one["kind"], one["code"], one["message"], one["reason"]), []).append(one)
    return groups.values()


def other_findings(document: Mapping[str, Any]) -> Iterator[list[Mapping[str, Any]]]:
    inline = inline_findings(document)
    return (group for group in _alike(document) if group[0]["kind"] not in inline)


def verdict_text(group: Sequence[Mapping[str, Any]]) -> str:
    return f"**{group[0]['kind']}** {findings_text(group)}"


def findings_text(group: Sequence[Mapping[str, Any]]) -> str:
    """The text about findings: policy, objects, place, message and reason. For undecided findings, also the values on
    which the verdict depends."""
    first = group[0]
    reason = f"; {prose(first['reason'])}" if first["reason"] else ""
    objects = f" {name_list(one['address'] for one in group)}" if first["address"] else ""
    place = f" ({link})" if len(group) == 1 and (link := place_link(first, "")) else ""
    rule = f" ({place_link(first['rule'], '')})" if first.get("rule") else ""
    waits = [wait for one in group for wait in one.get("waits_for") or ()]
    then = "if this turns out to be true: "
    verb = {"deny": f"denied {then}", "warn": f"warned of {then}"}.get(first.get("would") or "", "")
    later = f". {_waiting(waits, first.get('would') == 'deny')}" if waits else ""
    message = f"{verb if first['kind'] == 'undecided' else ''}{prose(first['message'])}"
    return f"{code(first['code'])}{rule}{objects}{place}: {message}{reason}{later}  "


def _waiting(waits: Sequence[Mapping[str, Any]], denies: bool) -> str:
    """The unknown values on which verdicts depend, when they become known, and the effect of a denial at that time."""
    named = list(
        dict.fromkeys(
            code(f"{one['address']}.{one['path']}") + (f" ({code(one['expression'])})" if one["expression"] else "")
            for one in waits
        )
    )
    more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
    objects = list(dict.fromkeys(one["address"] for one in waits))
    changed = f"{code(objects[0])} is changed" if len(objects) == 1 else "their objects are changed"
    known = {one["known"] for one in waits}
    when, effect = "known during the apply", "a denial then stops the apply"
    if known == {"before"}:
        when = f"known during the apply before {changed}"
        effect = f"a denial then stops the apply without that change, but {_earlier_changes(waits)}"
    elif known == {"after"}:
        when = f"known only after {changed}"
        effect = "a denial then stops the apply, but that change and earlier ones are made"
    effect = effect if denies else "the apply continues in any case"
    return f"It depends on {', '.join(named[:MOST_NAMED])}{more}, {when}; {effect}"


def _earlier_changes(waits: Sequence[Mapping[str, Any]]) -> str:
    """The changes that are made before the verdicts are decided: `a.k is replaced by then: its former object is
    destroyed`."""
    named = {one["address"]: one["action"] for wait in waits for one in wait.get("settled_by") or ()}
    if len(named) > 1:
        return f"{name_list(named)} are changed by then"
    for name, action in named.items():
        is_gone = does(action, "replaces") and action.startswith("delete")
        gone = ": its former object is destroyed" if is_gone else ""
        return f"{code(name)} {words_for(action).is_planned} by then{gone}"
    return "earlier changes are made"
