"""Objects that a plan moves to another address, and their moved blocks."""

from __future__ import annotations

from typing import Any

from planner.engine.plan.moves import query_facts, undo_moves
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.operations.plan import MadePlan


@frozen
class MovedObject:
    address: str
    former: str
    source: Span | None = None

    @property
    def text(self) -> str:
        """`terraform_data.b was terraform_data.a (moved block, main.tf:9)`."""
        at = self.source
        place = f" (moved block, {at.filename}:{at.start_position.line})" if at is not None else ""
        return f"{self.address} was {self.former}{place}"


def moves(made: MadePlan[Any]) -> list[MovedObject]:
    """The current objects whose addresses the plan changes, sorted by new address. Each has the position of the moved
    block that causes the move, or None if the move is implied."""
    plan = made.plan
    origins = {c.address: c.previous_address for c in plan.changes if not c.deposed and c.address != c.previous_address}
    if not origins or plan.previous_state is None:
        return []
    facts = query_facts(made.loaded.config, undo_moves(plan.previous_state, origins), plan.limits)
    implied = {row[0] for row in facts.relation("implied_statement")}
    blocks: dict[str, Any] = {}
    for row in sorted(facts.relation("statement_moves"), reverse=True):
        if row[0] not in implied:
            blocks[row[2]] = facts.source("statement_moves", row)
    return [MovedObject(address, former, blocks.get(address)) for address, former in sorted(origins.items())]
