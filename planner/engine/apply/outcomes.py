"""The outcome of each planned change in a failed apply: which part of the change was made, and the first error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.engine.apply.shared_work import ApplyWork
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.logic.model.plan import ResourceChange, change_name
from planner.logic.programs.actions import NO_OP, does

KINDS = ("done", "unmet", "tainted", "lost", "left", "failed", "not_reached")
DONE, UNMET, TAINTED, LOST, LEFT, FAILED, NOT_REACHED = KINDS
"""in this order: done; done, but a condition failed; created, but tainted; destroyed, but not created again; created,
but the former object still exists; failed; not begun"""
MAKING = "instance_apply"
STEPS = frozenset((MAKING, "instance_destroy", "deposed_destroy", "instance_forget", "deposed_forget"))
"""the kinds of vertices that make a planned change or one of its steps"""


@frozen
class Outcome:
    """The outcome of a planned change. `kind`: one of KINDS. `error`: the first error."""

    kind: str
    error: str = ""


def outcomes(walk: ApplyWork) -> Mapping[str, Outcome]:
    """The outcomes of all entries of the plan except no-ops, by the name of the change."""
    steps: dict[int, list[str]] = {}
    for name, node in walk.graph.nodes.items():
        change = walk.changes.get((node.object, node.extra)) or walk.changes.get((node.object, ""))
        if node.kind in STEPS and change is not None:
            steps.setdefault(id(change), []).append(name)
    return {
        change_name(change): _outcome(walk, change, steps.get(id(change), ()))
        for change in walk.plan.changes
        if change.action != NO_OP
    }


def _outcome(walk: ApplyWork, change: ResourceChange, nodes: Iterable[str]) -> Outcome:
    # decided in Python: the outcome of a change -- it follows from the number of completed steps
    record = walk.record
    problems = [one for node in nodes for one in record.ends.get(node, ()) if one.severity == "error"]
    begun = [node for node in nodes if node in record.ends]
    done = {node for node in begun if node in record.operated or not has_errors(record.ends[node])}
    error = _one_line(problems[0]) if problems else ""
    if all(node in done for node in nodes):
        return Outcome(UNMET if error else DONE, error)
    if not begun:
        return Outcome(NOT_REACHED)
    has_made = any(walk.graph.nodes[node].kind == MAKING for node in done)
    if does(change.action, "replaces") and has_made:
        return Outcome(LEFT, error)
    now = record.state.object(change.resource_address, change.key, "")
    if does(change.action, "creates") and now is not None and now.tainted:
        return Outcome(TAINTED, error)
    if does(change.action, "replaces") and done and now is None:
        return Outcome(LOST, error)
    return Outcome(FAILED, error)


def _one_line(problem: Diagnostic) -> str:
    detail = problem.detail.strip().partition("\n")[0]
    return f"{problem.summary}: {detail}" if detail else problem.summary
