"""What set off the changes of a plan, in short: for each change a group that it belongs to, and lines that say more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from planner.explain.trace import label
from planner.explain.why import Explainer
from planner.model.plan import Plan
from planner.programs.actions import NO_OP
from planner.vocabulary.diagnostic import Failure

MOST = 200
"""changes that are proved one by one, at some milliseconds each; of others the group is told"""
MOST_LINES = 8


@frozen
class Cause:
    """`group`: what changes with the same kind of cause have in common; `lines`: why this one is planned, perhaps
    none."""

    group: str
    lines: tuple[str, ...] = ()


def causes(plan: Plan, explainer: Callable[[], Explainer], most: int = MOST) -> dict[str, Cause]:
    """The cause of each change that does something, by what the change is called (its address, and the key of a
    deposed object)."""
    changes = [change for change in plan.changes if change.action != NO_OP]
    answers = explainer() if 0 < len(changes) <= most else None
    found = {}
    for change in changes:
        reason = change.reason.replace("_", " ")
        group = f"{change.action}: {reason}" if reason else change.action
        found[label(change)] = Cause(group, _lines(answers, label(change)) if answers is not None else ())
    return found


def _lines(answers: Explainer, name: str) -> tuple[str, ...]:
    try:
        proof = answers.action(name)
    except Failure:
        return ()  # an older plan file, which does not say what was decided from
    return tuple(_told(proof))[:MOST_LINES]


def _told(proof: dict[str, Any]) -> list[str]:
    """The reasons on the way down, and the places at the ends."""
    proofs, lines = proof["proofs"], []
    waiting, seen = [proof["root"]], set()
    while waiting:
        at = waiting.pop(0)
        if at in seen:
            continue
        seen.add(at)
        step = proofs[at]
        source = step.get("source") or {}
        if "file" in source:
            lines.append(f"{source['file']}:{source['line']}: {source['snippet'].strip()}")
        elif "state" in source:
            lines.append(f"state: {source['state']}")
        elif step.get("reason") and at != proof["root"]:
            lines.append(step["reason"])
        waiting += [entry["proof"] for entry in step.get("body", ()) if "proof" in entry]
    return list(dict.fromkeys(lines))
