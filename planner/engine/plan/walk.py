"""The plan walk: the work of every vertex of a plan graph, and the plan that comes of it.

    plan_walk(graph, config, moves, variables, schemas, options, hooks)  ->  (Plan, diagnostics)

The graph says what waits for what; this module says what to do when a vertex's turn comes. Which action an object
gets is not decided here but by the rules of rules/plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from planner.engine.evaluation.configuration_walk import ConfigurationWalk
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.value_digests import value_digests
from planner.engine.plan.action import Facts
from planner.engine.plan.moves import MoveResults, blocked_warning, check_moves
from planner.engine.plan.options import PlanOptions
from planner.engine.plan.outputs import plan_destroyed_output, plan_output
from planner.engine.plan.relevant_attributes import block_lookup, changed_outputs, relevant_attributes
from planner.engine.plan.resources import ResourceVertices
from planner.engine.plan.shared_work import PlanWork
from planner.engine.plan.unmatched_addresses import unmatched
from planner.engine.walk.hooks import Hooks
from planner.engine.walk.work import WorkResult
from planner.foundation.support.collector import collector_paused
from planner.foundation.support.files_read import files_read
from planner.foundation.support.lazy import Later
from planner.foundation.values.value import Null, Value
from planner.foundation.vocabulary.address import AddressError, join
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.language.config.model import Config
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph, Node
from planner.logic.model.plan import Plan, ResourceChange


def plan_walk(
    graph: Graph,
    config: Config,
    moves: MoveResults,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: PlanOptions,
    hooks: Hooks | None = None,
) -> tuple[Plan | None, list[Diagnostic]]:
    """Walk a plan graph. `moves` has the state after moving, which the plan starts from. With errors the plan says
    what was planned before and is marked as errored; None when not even that makes sense."""
    with collector_paused():
        walk = PlanWalk(graph, config, moves, variables, schemas, options, hooks or Hooks())
        try:
            made = walk.plan()
            if options.keep is not None:
                options.keep(walk.context)
                walk.keeps = True
            return made
        finally:
            walk.take_apart()


class PlanWalk(PlanWork):
    """The work on the vertices of a plan graph."""

    WORK: ClassVar[Mapping[str, str]] = {
        **ConfigurationWalk.WORK,
        **{kind: kind for kind in ("output", "output_destroy", "check_report", "resource")},
        **dict.fromkeys(("orphan", "deposed", "plan_destroy"), "departing"),
    }

    resources: ResourceVertices

    keeps = False
    """whether somebody has the values now"""

    def take_apart(self) -> None:
        if self.keeps:
            self._work.clear()
        else:
            super().take_apart()
        del self.resources

    # ---------------------------------------------------------------- the whole

    def plan(self) -> tuple[Plan | None, list[Diagnostic]]:
        self.resources = ResourceVertices(self)
        interrupted = error("plan.interrupted", "Execution halted", "Planning was interrupted before its end.")
        problems = self.drive("plan", interrupted)
        missing = self.imports.missing()
        if missing:
            return None, missing
        misplaced = check_moves(self.record.moves, self.context, self.options.mode == "destroy")
        if misplaced:
            return None, misplaced
        if not has_errors(problems):
            problems += blocked_warning(self.record.moves)
            problems += unmatched(self)
        return self._plan(has_errors(problems)), problems

    def _plan(self, errored: bool) -> Plan:
        options = self.options
        changes = self.record.changes()
        return Plan(
            options.mode,
            changes,
            self.record.drift(),
            tuple(self.record.outputs[name] for name in sorted(self.record.outputs)),
            self.record.prior_state,
            self.record.previous_state,
            None,
            recorded_variables(self.config, self.variables),
            self.checks.results(),
            self.checks.configs(),
            self._relevant_attributes(changes),
            limits=options.limits,
            timestamp=self.timestamp,
            errored=errored,
            facts=self.record.facts(),
            values={} if options.digester is None else value_digests(self.context, options.digester),
            files=files_read(),
            providers=self.providers.values(),
            module_outputs=self.record.module_outputs,
        )

    def _relevant_attributes(self, changes: tuple[ResourceChange, ...]) -> Later[tuple[str, tuple[Any, ...]]]:
        """What the changes rest on: of resources, of root outputs that change and of all outputs of child modules. Few
        plans are asked for it."""
        config, block_of = self.config, block_lookup(self.schemas)
        changed = changed_outputs(self.record.outputs.values(), self.context)
        return Later(lambda: relevant_attributes(config, block_of, changes, changed))

    # ---------------------------------------------------------------- work on vertices (planner.engine.walk.work.Work)

    def is_inline(self, node: str) -> bool:
        if self.opened.has(node):
            return False
        task = self.resources.tasks.get(node)
        if task is not None:
            return task.instance.provider.is_inline
        if node not in self.asking:
            return True
        source = self.provider_of(node)
        try:
            return not source or self.schemas.provider(source).is_inline
        except Failure:
            return True

    def provider_of(self, node: str) -> str:
        task = self.resources.tasks.get(node)
        if task is None and node not in self.asking:
            return ""
        configuration = task.instance.configuration if task is not None else self.configurations.get(node, node)
        try:
            return parse_provider_configuration(configuration).source
        except AddressError:
            return ""

    def run(self, node: str) -> WorkResult:
        task = self.resources.tasks.get(node)
        return super().run(node) if task is None else WorkResult(tuple(task.run(self, task.instance)))

    # ---------------------------------------------------------------- outputs

    def output(self, node: Node) -> list[Diagnostic]:
        config_address = join(node.module, f"output.{node.object}")
        modules = self.context.instances_at(node.module)
        self.checks.announce("output_value", config_address, (join(m.text, f"output.{node.object}") for m in modules))
        if not node.module and self.options.mode == "destroy":
            return self.output_destroy(node)
        problems: list[Diagnostic] = []
        for module in modules:
            problems += plan_output(self, module, node.object, config_address)
        return problems

    def output_destroy(self, node: Node) -> list[Diagnostic]:
        facts: Facts = {"output_declared": ()} if node.object in self.config.root.outputs else {}
        if self.options.mode == "destroy":
            facts["everything_ends"] = ()
        return plan_destroyed_output(self.record, self.state, node.object, facts)

    # ---------------------------------------------------------------- resources

    def resource(self, node: Node) -> WorkResult:
        return self.resources.resource(node)

    def departing(self, node: Node) -> list[Diagnostic]:
        return self.resources.departing(node)


# ---------------------------------------------------------------- helpers


def recorded_variables(config: Config, variables: Mapping[str, RootVariable]) -> dict[str, Value]:
    """What a plan keeps of the root variables: values as given or defaulted, of ephemeral ones only the name."""
    found: dict[str, Value] = {}
    for name, decl in sorted(config.root.variables.items()):
        given = variables.get(name)
        if given is None:
            continue
        if decl.ephemeral:
            found[name] = None
        else:
            found[name] = given.raw if given.raw is not None else (Null() if decl.default is None else decl.default)
    return found
