"""The plans that one process makes after edits of files: the last complete plan, and the part of it that is planned
again after an edit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.foundation.support.disk import read_whole
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.render.diff_block import SchemaLookup
from planner.render.plan import PlanText
from planner.render.terminal import Terminal
from planner.workflows.renew.keep import Printed, gathered, keep_plan
from planner.workflows.renew.partial_plan import block_of
from planner.workflows.renew.renewal import Renewal, Renewed, shown_causes

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.operations.explanations import Chains


class Standing:
    """A complete plan, of which parts can be planned again after edits."""

    def __init__(self, made: MadePlan[Any], has_remarks: bool, terminal: Terminal) -> None:
        self.made = made
        self._since: set[str] = set()
        text = PlanText(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, terminal)
        gathering = gathered(made, has_remarks, compares_data=False)
        self._kept = keep_plan(made, gathering, Printed([], "", 0, (), text, 0, False, False), [])

    def after(self, changed: Iterable[str], options: OperationOptions) -> Changed | None:
        """The plan after changes of these files, together with all earlier changes since the complete plan; None if the
        whole configuration must be planned."""
        parts = self._kept.parts if self._kept is not None else None
        if self._kept is None or parts is None:
            return None
        self._since.update(changed)
        texts = {}
        for name in sorted(self._since):
            if name not in parts.files:
                return None
            try:
                texts[name] = read_whole(name).decode()
            except (OSError, ValueError):
                return None
        renewed = Renewal(self._kept, parts, texts, options).renewed()
        chains = shown_causes(renewed, parts) if renewed is not None else None
        if renewed is None or chains is None:
            return None
        return Changed(self.made, renewed, chains)


class Changed:
    """A complete plan in which a part was replaced by a new plan of this part."""

    def __init__(self, whole: MadePlan[Any], renewed: Renewed, chains: Chains) -> None:
        part = renewed.made.plan
        touched = renewed.anew | renewed.gone
        outputs = {one.name for one in part.outputs} | {name.removeprefix("output.") for name in renewed.gone}
        stay = tuple(change for change in whole.plan.changes if block_of(change.resource_address) not in touched)
        plan = evolve(
            whole.plan,
            changes=stay + part.changes,
            outputs=tuple(one for one in whole.plan.outputs if one.name not in outputs) + part.outputs,
        )
        self._chains = chains
        self.names = frozenset(
            [change.address for change in part.changes] + [f"output.{one.name}" for one in part.outputs]
        )
        self.made = evolve(renewed.made, plan=plan)

    def get(self, name: str) -> Because | None:
        """The cause of a change in the part that was planned again; None for other changes, because their sources may
        now be at other lines."""
        return self._chains.get(name) if name in self.names else None
