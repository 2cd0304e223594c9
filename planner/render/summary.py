"""How many objects are (or were) imported, added, changed, destroyed and forgotten, and the sentences that say so.

Other programs look for these sentences: they are the ecosystem's, word for word.
"""

from __future__ import annotations

from planner.logic.model.plan import Plan
from planner.logic.programs.actions import does


class Counts:
    """Five numbers."""

    __slots__ = ("add", "change", "forget", "imports", "remove")

    def __init__(self, add: int = 0, change: int = 0, remove: int = 0, imports: int = 0, forget: int = 0) -> None:
        self.add = add
        self.change = change
        self.remove = remove
        self.imports = imports
        self.forget = forget

    @classmethod
    def of_plan(cls, plan: Plan) -> Counts:
        """What a plan would do; data that merely go away do not count."""
        counts = cls()
        for change in plan.changes:
            action = change.action
            if change.mode != "managed" and does(action, "ends"):
                continue
            counts.imports += change.importing is not None
            counts.add += does(action, "creates")
            counts.change += action == "update"
            counts.remove += does(action, "destroys")
            counts.forget += does(action, "forgets")
        return counts

    @property
    def numbers(self) -> str:
        """`1 to add, 0 to change, 0 to destroy`, with imports and forgotten objects when there are any."""
        first = f"{self.imports} to import, " if self.imports else ""
        last = f", {self.forget} to forget" if self.forget else ""
        return f"{first}{self.add} to add, {self.change} to change, {self.remove} to destroy{last}"

    @property
    def planned(self) -> str:
        return f"Plan: {self.numbers}."

    @property
    def applied(self) -> str:
        return f"Apply complete! Resources: {self.done}."

    @property
    def done(self) -> str:
        """`1 added, 0 changed, 0 destroyed`, with imports and forgotten objects when there are any."""
        first = f"{self.imports} imported, " if self.imports else ""
        last = f", {self.forget} forgotten" if self.forget else ""
        return f"{first}{self.add} added, {self.change} changed, {self.remove} destroyed{last}"

    @property
    def destroyed(self) -> str:
        return f"Destroy complete! Resources: {self.remove} destroyed."
