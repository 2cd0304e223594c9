"""Numbers of objects that a plan or an apply is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.logic.programs.actions import does

if TYPE_CHECKING:
    from planner.logic.model.plan import Plan


class Counts(NamedTuple):
    """How many objects are (or were) created, changed, destroyed, imported and forgotten."""

    add: int = 0
    change: int = 0
    remove: int = 0
    imports: int = 0
    forget: int = 0

    @classmethod
    def of_plan(cls, plan: Plan) -> Counts:
        """The work of a plan; data sources that only leave the state do not count."""
        add = update = remove = imports = forget = 0
        for change in plan.changes:
            action = change.action
            if change.mode != "managed" and does(action, "ends"):
                continue
            imports += change.importing is not None
            add += does(action, "creates")
            update += action == "update"
            remove += does(action, "destroys")
            forget += does(action, "forgets")
        return cls(add, update, remove, imports, forget)

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """The sum with `times` the other numbers."""
        return Counts(*(own + times * more for own, more in zip(self, other, strict=True)))
