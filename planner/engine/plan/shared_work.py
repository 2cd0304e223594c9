"""Data that all vertices of a plan walk share: the options, relations of the graph, and the record of results."""

from __future__ import annotations

from collections.abc import Mapping
from time import gmtime, strftime

from planner.engine.evaluation.conditions import SelfReferences
from planner.engine.evaluation.configuration_walk import ConfigurationWalk, provider_configurations, relation
from planner.engine.evaluation.imports import Imports
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import StateObjects
from planner.engine.evaluation.schemas import Schemas
from planner.engine.plan.findings import PlanRecord
from planner.engine.plan.moves import MoveResults
from planner.engine.plan.options import PlanOptions
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.address import parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.language.config.model import Config
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph


class PlanWork(ConfigurationWalk):
    """The methods and shared data of a plan walk that functions use to plan one instance. These functions return
    problems, and change no shared data except `record`."""

    def __init__(
        self,
        graph: Graph,
        config: Config,
        moves: MoveResults,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        options: PlanOptions,
        hooks: Hooks,
    ) -> None:
        self.timestamp = options.timestamp or _now()
        objects = StateObjects(moves.state, schemas)
        super().__init__(graph, config, options.walk, variables, schemas, objects, options, self.timestamp, hooks)
        self.options = options
        self.is_lenient = options.is_lenient
        self.state = moves.state
        self.record = PlanRecord(moves)
        self.imports = Imports(self.context)
        self.replace = frozenset(map(str, options.limits.replace))
        self.configurations = provider_configurations(graph)
        self.own_references: dict[str, list[str]] = {}
        for resource, target in sorted(relation(graph, "mentions_itself")):
            self.own_references.setdefault(resource, []).append(target)
        self.replacement_first = {row[0] for row in relation(graph, "replacement_first")}
        self._self_references = SelfReferences()
        self._waits: dict[str, list[str]] = {}
        for resource, dependency in sorted(relation(graph, "data_waits")):
            self._waits.setdefault(resource, []).append(dependency)

    def self_references(self, it: Instance) -> list[Diagnostic]:
        """Errors for references in the resource's block to the instance itself, whose value is not known yet."""
        # according to the graph, no reference of the resource, not even in depends_on, names the resource itself
        if it.config_address not in self.own_references and self.graph.database is not None:
            return []
        return self._self_references.of(it)

    def changes_before(self, it: Instance) -> tuple[tuple[str, str, str], ...]:
        """(resource, action, position) of the planned changes because of which a data source may have to be read during
        the apply. The position is `here` if the changed object is in the same module instance, `beside` if it is in
        another instance of the same module, and otherwise `elsewhere`."""
        own = parse_resource_instance(it.config_address).module
        items = set()
        for resource in self._waits.get(it.config_address, ()):
            is_near = parse_resource_instance(resource).module == own
            for action, module in self.record.pending(resource):
                place = "here" if module == it.module_text else "beside" if is_near else "elsewhere"
                items.add((resource, action, place))
        return tuple(sorted(items))


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
