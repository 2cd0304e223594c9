"""Why a policy says what it says, for people: the rule, and the line of what is wrong."""

from __future__ import annotations

from typing import Any

from planner.render.literals import quoted
from planner.render.proof import proof_text, source_text
from planner.render.terminal import Paint

VERDICTS = ("deny", "warn", "undecided", "broken", "overridden", "waived", "info")
"""goals of documents that this module writes"""
_SAID = {
    "deny": "Policy {code} denies {address}",
    "warn": "Policy {code} warns of {address}",
    "undecided": "Policy {code} cannot say yet of {address}",
    "broken": "Policy {code} cannot be decided for {address}",
    "overridden": "Policy {code} denies {address}, which is overridden",
    "waived": "Policy {code} objects to {address}, which is waived",
    "info": "Policy {code} tells of {address}",
}


def verdict_text(document: dict[str, Any], paint: Paint, full: bool) -> str:
    """One finding, and those that were meant as well. `full`: with the proof by the rules of the policy."""
    parts = [_finding(one, paint, full) for one in (document, *document.get("also", ()))]
    return "\n\n".join(parts)


def _finding(document: dict[str, Any], paint: Paint, full: bool) -> str:
    kind, code, address, message = document["goal"]
    said = _SAID[kind].format(code=code, address=address or "the plan")
    told = "" if kind == "undecided" else f": {message.removeprefix('cannot be decided: ')}"
    lines = [paint(f"{said}{told}", "bold")]
    if "overridden" in document:
        lines.append(f"  {kind}: {document['overridden']}")
    for culprit in document.get("culprits", ()):
        lines += _culprit(culprit, paint)
    for waiting in document.get("waits_for", ()):
        if waiting.get("why"):
            lines.append(f"  {waiting['what']} is not known yet:")
            lines += [f"    {line}" for line in proof_text(waiting["why"], paint).splitlines()]
        else:
            lines.append(f"  {waiting['what']} is not known yet{_at(waiting, paint)}")
    if kind == "undecided":
        lines.append(f"  it may become: {document['would']}")
    if document.get("by_cases"):
        lines.append("  whatever that turns out to be, one of these rules holds:")
        for one in document["by_cases"]:
            lines.append(f"    {paint('[' + one['name'] + ']', 'grey')}{_at(one, paint)}")
        return "\n".join(lines)
    rule = document["rule"]
    if rule.get("reason") and not full:
        lines.append(f"  because {rule['reason']} {paint('[' + rule['name'] + ']', 'grey')}{_at(rule, paint)}")
    elif not full:
        lines.append(f"  by the rule {paint('[' + rule['name'] + ']', 'grey')}{_at(rule, paint)}")
    if full and "proofs" in document:
        lines += [f"  {line}" for line in proof_text(document, paint, full=True).splitlines()]
    return "\n".join(lines)


def _culprit(culprit: dict[str, Any], paint: Paint) -> list[str]:
    what = culprit["what"]
    if "action" in culprit:
        return [f"  the planned action of {what} is {culprit['action']} (planner why {what} tells why)"]
    if culprit.get("is_missing"):
        said = f"{what} is not there"
    else:
        said = f"{what} is {_value(culprit['value'])}" if "value" in culprit else f"{what} is a sensitive value"
    lines = [f"  {said}{_at(culprit, paint)}"]
    for step in culprit.get("from", ()):
        origin = f" ({step['origin']})" if step.get("origin") else ""
        lines.append(f"    which is {step['what']}{origin}{_at(step, paint)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else str(value)


def _at(entry: dict[str, Any], paint: Paint) -> str:
    place = source_text(entry.get("source"))
    return f": {paint(place, 'grey')}" if place else ""
