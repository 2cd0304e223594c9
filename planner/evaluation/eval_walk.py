"""The evaluation walk: variables, locals and outputs as they are now, resources as the state has them. For the console,
and for commands that ask about values without planning anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.config.model import Config
from planner.config.variables import RootVariable
from planner.evaluation.context import EvaluationContext, declared_marks
from planner.evaluation.objects import StateObjects
from planner.evaluation.repetition import expand
from planner.evaluation.schemas import Schemas
from planner.evaluation.variables import evaluate_argument, evaluate_local
from planner.model.graph import Graph, Node
from planner.plan.outputs import evaluate_output
from planner.state.model import State
from planner.values.value import mark
from planner.vocabulary.address import parse_module
from planner.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.walk.machine import Machine
from planner.walk.sequential import walk_sequentially
from planner.walk.work import WorkResult


def eval_walk(
    graph: Graph,
    config: Config,
    state: State,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    workspace: str = "default",
) -> tuple[EvaluationContext, list[Diagnostic]]:
    """The context of the root module (`context.root.scope` resolves names) as far as values can be had."""
    walk = EvalWalk(graph, config, state, variables, schemas, workspace)
    result = walk_sequentially(Machine(graph.reduced or graph.edges), walk)
    return walk.context, list(result.diagnostics)


class EvalWalk:
    """The work on the vertices of a graph that has values only (planner.walk.work.Work)."""

    def __init__(
        self,
        graph: Graph,
        config: Config,
        state: State,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        workspace: str,
    ) -> None:
        self.graph = graph
        self.variables = variables
        self.context = EvaluationContext(config, "console", schemas, StateObjects(state, schemas), workspace)

    def is_inline(self, node: str) -> bool:
        return True

    def run(self, node: str) -> WorkResult:
        vertex = self.graph.nodes[node]
        work = _WORK.get(vertex.kind)
        return WorkResult(tuple(work(self, vertex)) if work is not None else ())

    def root_variable(self, node: Node) -> list[Diagnostic]:
        given = self.variables.get(node.object)
        if given is not None:
            self.context.root.variables[node.object] = given.value
        return []

    def module_variable(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances(parse_module(node.module).path):
            problems += evaluate_argument(module, node.object)
        return problems

    def local(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances(parse_module(node.module).path):
            problems += evaluate_local(module, node.object)
        return problems

    def output(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances(parse_module(node.module).path):
            decl = module.config.outputs[node.object]
            value, found = evaluate_output(module, decl)
            problems += found
            if not has_errors(found):
                module.set_output(decl.name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))
        return problems

    def module_expand(self, node: Node) -> list[Diagnostic]:
        *above, name = parse_module(node.module).path
        problems: list[Diagnostic] = []
        for parent in self.context.instances(tuple(above)):
            try:
                expansion = expand(parent.config.calls[name], parent.scope, str(parent.address.child(name)))
                self.context.expand_module(parent, name, expansion)
            except Failure as failure:
                problems += failure.diagnostics
        return problems


_WORK: dict[str, Callable[[EvalWalk, Node], list[Diagnostic]]] = {
    "root_variable": EvalWalk.root_variable,
    "module_variable": EvalWalk.module_variable,
    "local": EvalWalk.local,
    "output": EvalWalk.output,
    "module_expand": EvalWalk.module_expand,
}
"""what to do at each kind of vertex; at the others there is nothing to do"""
