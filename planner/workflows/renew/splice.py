"""Prints a renewed plan. For objects whose plan is kept, the stored output is copied; all other objects are printed
anew."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.address import sort_key
from planner.foundation.vocabulary.records import evolve
from planner.logic.model.plan import OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import Counts
from planner.render.plan import PlanText, SchemaOf, is_shown
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.workflows.renew.kept import RenewableParts
    from planner.workflows.renew.renewal import Renewed


class SplicedText(PlanText):
    """Prints a renewed plan. Its attribute `plan` contains the changes that were planned again and, instead of all
    others, one example of each kind."""

    def __init__(
        self, renewed: Renewed, parts: RenewableParts, output: str, schema_of: SchemaOf, terminal: Terminal
    ) -> None:
        part = renewed.made.plan
        touched = renewed.anew | renewed.gone
        self.stay = [change for change in parts.changes if change[1] not in touched]
        self.output = output
        self.new = part.changes
        names = {f"output.{one.name}" for one in part.outputs} | touched
        self.kept_outputs = [one for one in parts.outputs if f"output.{one[0]}" not in names]
        kinds = Counter((mode, action, first >= 0) for _, _, mode, action, first, _ in self.stay)
        self.kinds = [(_example(*kind), count) for kind, count in sorted(kinds.items())]
        light = evolve(
            part,
            changes=(*(example for example, _ in self.kinds), *part.changes),
            outputs=(*part.outputs, *(OutputChange(one[0], one[1], None, None, False) for one in self.kept_outputs)),
        )
        super().__init__(light, schema_of, terminal)
        self.changed = sum(count for (_, action, _), count in kinds.items() if action != "no-op") + sum(
            change.action != "no-op" for change in part.changes
        )
        """number of changes in the whole plan, without no-ops"""
        self.repeats = any(first >= 0 for *_, first, _ in self.stay)
        """whether stored output is copied"""
        self.part: Plan = part

    def counts(self) -> Counts:
        total = Counts.of_plan(self.part)
        for example, count in self.kinds:
            one = Counts.of_plan(evolve(self.part, changes=(example,)))
            total = total.plus(one, count)
        return total

    def output_parts(self) -> list[tuple[str, str, str]]:
        mine = PlanText(self.part, self.schema_of, self.terminal).output_parts()
        kept = [(name, sign, value) for name, _, sign, value in self.kept_outputs]
        return sorted([*mine, *kept])

    def bodies(self, changes: list[ResourceChange]) -> None:
        at = 0
        for change in self.new:
            if is_shown(change):
                until = self._place(change)
                self._as_told(at, until)
                self.terminal.out()
                self.terminal.out(self.change(change))
                at = until
        self._as_told(at, len(self.stay))

    def _place(self, change: ResourceChange) -> int:
        """The position of a change that was planned again among the changes that are kept."""
        return bisect_left(self.stay, sort_key(change.address), key=lambda one: sort_key(one[0]))

    def _as_told(self, start: int, end: int) -> None:
        """Copy the stored output of the kept changes from `start` to `end`, in as few pieces as possible."""
        begin = until = -1
        for _, _, _, _, first, last in self.stay[start:end]:
            if first < 0:
                continue
            if first != until:
                self._write(begin, until)
                begin = first
            until = last
        self._write(begin, until)

    def _write(self, begin: int, until: int) -> None:
        if begin >= 0:
            self.terminal.stdout.write(self.output[begin:until])


def _example(mode: str, action: str, is_printed: bool) -> ResourceChange:
    """An example of a change with this mode and action, for output that depends only on the kinds of changes, such as
    counts. `is_printed`: whether the plan shows the change; a no-op that it shows is a moved object."""
    former = "former" if is_printed and action == "no-op" else "example"
    return ResourceChange("example", former, "", mode, "", "example", None, "", "", action, "", None, None)
