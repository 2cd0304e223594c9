"""What makes something go away, for people: a line a set, each with what is known of whether it does."""

from __future__ import annotations

from typing import Any

from planner.render.proof import fact_text, source_text
from planner.render.terminal import Paint


def fixes_text(document: dict[str, Any], paint: Paint) -> str:
    """The sets, smallest first, or why there are none."""
    parts = [_one(one, paint) for one in (document, *document.get("also", ()))]
    return "\n\n".join(parts)


def _one(document: dict[str, Any], paint: Paint) -> str:
    lines = [*document.get("notes", ()), paint(f"{_goal(document['goal'])}. Any of these would end that:", "bold")]
    if not document["fixes"]:
        lines[-1] = paint(f"{_goal(document['goal'])}.", "bold")
        return "\n".join([*lines, document.get("stuck") or document.get("limit", "")])
    for number, fix in enumerate(document["fixes"], 1):
        note = fix.get("note") or ("checked" if fix["checked"] else "not checked")
        texts = [_place(place) for place in fix["places"]]
        texts[-1] += " " + paint(f"[{note}]", "grey")
        lines.append(f"  {number}. {texts[0]}")
        lines += [f"     and {text}" for text in texts[1:]]
    return "\n".join([*lines, *filter(None, (document.get("limit"),))])


def _place(place: dict[str, Any]) -> str:
    at, text = source_text(place.get("source")), str(place["text"])
    is_told = (
        not at
        or text.startswith(at)
        or place["kind"] in ("option", "state", "rule")
        or "command_line" in place["source"]
    )
    return text if is_told else f"{text}: {at}"


def _goal(goal: list[Any]) -> str:
    name, *columns = goal
    if name in ("waits_for", "edge"):
        return f"{columns[0]} waits for {columns[1]}"
    if name == "unknown":
        return f"{columns[0]} is not known yet"
    if name in ("deny", "warn", "overridden"):
        said = "warns of" if name == "warn" else "denies"
        return f"Policy {columns[0]} {said} {columns[1] or 'the plan'}: {columns[2]}"
    if name in ("action", "output_action"):
        return f"The planned action of {columns[0]} is {columns[1]}"
    return f"{fact_text(goal)} holds"
