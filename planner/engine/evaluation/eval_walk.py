"""The evaluation walk: current variables, locals and outputs, and resources as the state has them. For the console,
and for commands that evaluate values without planning anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from planner.engine.evaluation.configuration_walk import ValueWalk
from planner.engine.evaluation.context import EvaluationContext, declared_marks
from planner.engine.evaluation.objects import StateObjects
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import evaluate_output
from planner.foundation.values.value import Value, mark
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.model import Config
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph, Node
from planner.world.state.model import State


def eval_walk(
    graph: Graph,
    config: Config,
    state: State,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    workspace: str = "default",
) -> tuple[EvaluationContext, list[Diagnostic]]:
    """The context of the root module (`context.root.scope` resolves names) as far as values can be had."""
    context = EvaluationContext(config, "eval", schemas, StateObjects(state, schemas), workspace)
    return context, EvalWalk(graph, context, variables).run_all()


class EvalWalk(ValueWalk):
    """The work on the vertices of a graph that has values only."""

    known: Mapping[str, Value] = {}
    """outputs of called modules that need no evaluation, by address: what a plan that was applied knew of them"""

    def output(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            decl = module.config.outputs[node.object]
            known = self.known.get(join(module.text, f"output.{decl.name}"))
            value, item = evaluate_output(module, decl) if known is None else (known, [])
            problems += item
            if not has_errors(item):
                module.set_output(decl.name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))
        return problems

    def warnings_of(self, warnings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        return ()  # nothing is planned, so there are no warnings of a plan

    WORK: ClassVar[Mapping[str, str]] = {**ValueWalk.WORK, "output": "output"}
