"""The causes of the changes of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.logic.model.plan import change_name
from planner.operations.explanations import explainer_of
from planner.operations.plan import MadePlan

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because


def causes(made: MadePlan[Any]) -> Mapping[str, Because]:
    """What set off each change and each output that changes, by name."""
    return explainer_of(made).causes()


def changed_actions(made: MadePlan[Any]) -> dict[str, str]:
    """The action of everything that changes, by the same names."""
    plan = made.plan
    actions: dict[str, str] = {change_name(c): c.action for c in plan.changes if c.action != "no-op"}
    return actions | {f"output.{o.name}": o.action for o in plan.outputs if o.action != "no-op"}
