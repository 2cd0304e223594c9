"""What all walks over a configuration are: vertices whose work a table names, driven in the order of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.repetition import expand
from planner.engine.evaluation.variables import evaluate_argument, evaluate_local
from planner.engine.walk.sequential import walk_straight
from planner.engine.walk.work import NOTHING, StopSignal, WorkResult
from planner.foundation.vocabulary.address import parse_module
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import ModulePath
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph, Node

VertexWork: TypeAlias = Callable[[Node], "WorkResult | list[Diagnostic]"]
"""what to do when the turn of a vertex comes"""


@frozen(eq=False, kw_only=True)
class WalkOptions:
    """What is asked of every walk that may ask providers. `parallelism`: how many provider calls at a time,
    `provider_limits`: how many of one provider (by its source address)."""

    parallelism: int = 10
    provider_limits: Mapping[str, int] = field(factory=dict)
    workspace: str = "default"
    stop: StopSignal = field(factory=StopSignal)
    sequential: bool = False
    """one thing at a time on one thread, for debugging"""


class VertexWalk:
    """Work on the vertices of a graph (planner.engine.walk.work.Work). `WORK` names the method for each kind of vertex;
    at the others there is nothing to do."""

    WORK: ClassVar[Mapping[str, str]] = {}

    def __init__(self, graph: Graph, context: EvaluationContext) -> None:
        self.graph, self.context = graph, context
        self._work: dict[str, VertexWork] = {kind: getattr(self, name) for kind, name in self.WORK.items()}

    def is_inline(self, node: str) -> bool:
        return True

    def run(self, node: str) -> WorkResult:
        vertex = self.graph.nodes[node]
        work = self._work.get(vertex.kind)
        answer = work(vertex) if work is not None else NOTHING
        if isinstance(answer, WorkResult):
            return answer
        return WorkResult(tuple(answer)) if answer else NOTHING

    def take_apart(self) -> None:
        """The walk is over and will not be asked anything."""
        self._work.clear()
        self.context.take_apart()

    def run_all(self) -> list[Diagnostic]:
        """The work on all vertices, one after the other, once."""
        problems = walk_straight(self.graph.numbered, self)
        self._work.clear()  # methods of this very object: nothing is to be left in circles
        return list(problems)


class ValueWalk(VertexWalk):
    """The vertices that only have values: variables, locals, and the instances of modules."""

    def __init__(self, graph: Graph, context: EvaluationContext, variables: Mapping[str, RootVariable]) -> None:
        super().__init__(graph, context)
        self.variables = variables

    def root_variable(self, node: Node) -> list[Diagnostic]:
        given = self.variables.get(node.object)
        if given is not None:
            self.context.root.variables[node.object] = given.value
        return []

    def module_variable(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            problems += evaluate_argument(module, node.object)
        return problems

    def local(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            problems += evaluate_local(module, node.object)
        return problems

    def module_expand(self, node: Node) -> list[Diagnostic]:
        *above, name = module_path(node.module)
        problems: list[Diagnostic] = []
        for parent in self.context.instances(tuple(above)):
            try:
                address = str(parent.address.child(name))
                expansion = expand(parent.config.calls[name], parent.scope, address)
                self.context.expand_module(parent, name, expansion)
                problems += self.warnings_of(expansion.warnings)
            except Failure as failure:
                problems += failure.diagnostics
        return problems

    def warnings_of(self, warnings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """What is told of the warnings of an expansion."""
        return warnings

    WORK: ClassVar[Mapping[str, str]] = {
        kind: kind for kind in ("root_variable", "module_variable", "local", "module_expand")
    }


def module_path(module: str) -> ModulePath:
    """The path of a module or module instance address."""
    return parse_module(module).path
