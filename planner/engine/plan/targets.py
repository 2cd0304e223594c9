"""-target and -exclude inside a resource: which of its instances are meant.

Whole resources and modules are taken out of the graph before the walk; what is left to decide here are addresses with
keys, once the instances are known. The rules of rules/graph/instances.dl decide; this module states the facts.
"""

from __future__ import annotations

from collections.abc import Collection

from planner.foundation.vocabulary.limits import Limits
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.from_config import from_command
from planner.logic.programs.rule_programs import limit_program


def command_line(walk: str, limits: Limits) -> FactBase:
    """The facts about the addresses on the command line."""
    facts = FactBuilder()
    from_command(facts, walk, limits)
    return facts.build()


class InstanceLimits:
    """What the command line leaves of the instances of single resources.

    `in_part`: the vertices of resources of which it may leave some instances only (`named_in_part`), which alone are
    asked for; None when that is not known."""

    def __init__(self, command: FactBase, in_part: Collection[str] | None) -> None:
        self._command = command
        self._in_part = in_part
        self._is_limited = bool(command.relation("target") or command.relation("exclude"))

    def concern(self, node: str) -> bool:
        """Whether there is anything to ask about the resource of this vertex; if not, all its instances take part."""
        return self._is_limited and (self._in_part is None or node in self._in_part)

    def facts(self) -> FactBuilder:
        """To add the instances to that the walk has before it."""
        return FactBuilder(self._command)

    def left_out(self, facts: FactBuilder) -> set[str]:
        """The instances, of those that were added, that take no part."""
        found = evaluate(limit_program(), facts.build(), ["walked", "takes_part"])
        return {row[0] for row in found["walked"]} - {row[0] for row in found["takes_part"]}
