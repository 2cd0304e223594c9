"""Does a plan say what another one said? The one that was approved may have been incomplete: where it had an unknown
value, any fits."""

from __future__ import annotations

from planner.foundation.values.value import Value, unmark_deep
from planner.logic.model.plan import Plan, ResourceChange, change_name
from planner.world.provider.conformity import value_problems

Differences = tuple[tuple[str, str], ...]


def compared(approved: Plan, now: Plan) -> Differences:
    """(address, action or value) of what a plan does that the approved one did not say. What that one announced and is
    not needed any more is no difference."""
    # decided in Python: whether a plan made again equals the approved one -- a comparison of plans, value by value
    found: set[tuple[str, str]] = set()
    known = {change_name(change): change for change in counted(approved)}
    for change in counted(now):
        name = change_name(change)
        before = known.get(name)
        if before is None or before.action != change.action or before.previous_address != change.previous_address:
            found.add((name, "action"))
        elif not _fits(before.after, change.after):
            found.add((name, "value"))
    outputs = {output.name: output for output in approved.outputs}
    for output in now.outputs:
        if output.action == "no-op":
            continue
        said = outputs.get(output.name)
        if said is None or said.action == "no-op":
            found.add((f"output.{output.name}", "action"))
        elif not _fits(said.after, output.after):
            found.add((f"output.{output.name}", "value"))
    return tuple(sorted(found))


def counted(plan: Plan) -> list[ResourceChange]:
    """What is done to objects; reading data is nothing that anybody approves."""
    return [c for c in plan.changes if c.mode != "data" and (c.action != "no-op" or c.importing is not None)]


def _fits(approved: Value, now: Value) -> bool:
    return not value_problems(unmark_deep(approved)[0], unmark_deep(now)[0])
