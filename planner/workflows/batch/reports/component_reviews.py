"""Reviews of the components of a deployment. For each input of a component, the outputs from which its value comes are
included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.stack_files.model import StackConfig, StackModule
from planner.language.syntax.body import variables
from planner.language.syntax.nodes import Expression, GetAttr, GetIndex, Literal, Object, Step, Traversal
from planner.render.review.results import with_results
from planner.render.review.subject import ReviewSubject
from planner.workflows.batch.reports.review import UnitReviews
from planner.workflows.stacks.names import Path, PromiseName
from planner.workflows.stacks.steps import DeploymentPlan

_DEEPEST = 50
"""maximum number of locals, inputs and outputs that are followed to find the origin of a value"""


def component_reviews(plan: DeploymentPlan, stack: StackConfig) -> UnitReviews:
    """The reviews of the component instances with changes, and the outputs from which the values of their inputs
    come."""
    from planner.render.review.of_plan import plan_review, short_review

    reviews: dict[str, Mapping[str, Any]] = {}
    steps = {str(step.name): step for step in plan.steps}
    for name, step in steps.items():
        made = step.planned.complete if step.planned is not None else None
        if made is not None and step.has_changes:
            reviews[name] = short_review(plan_review(made, ReviewSubject()))
    deployment = stack.deployments.deployments.get(plan.deployment)
    given = deployment.inputs if deployment is not None else None
    read = _ComponentReads(stack.root, [step.name for step in steps.values()], given)
    for name, review in reviews.items():
        for cause in review["causes"]:
            place = read.place_of(steps[name].name, cause["what"].removeprefix("var."))
            if cause["kind"] == "variable" and place is not None:
                written, of_deployment = place
                if of_deployment:
                    cause["label"] = f"deployment {plan.deployment}: input {of_deployment}"
                cause |= {"file": written.filename, "line": written.start_position.line}
    return UnitReviews(reviews, {name: read.inputs(steps[name].name) for name in reviews})


def applied(plan: DeploymentPlan, made: UnitReviews) -> UnitReviews:
    """The reviews after the apply, with the outcome of each change."""
    reviews = dict(made.reviews)
    for step in plan.steps:
        if (review := reviews.get(str(step.name))) is not None:
            outcomes = step.outcomes
            reviews[str(step.name)] = with_results(dict(review), outcomes == {}, outcomes or {})
    return UnitReviews(reviews, made.reads)


class _ComponentReads:
    """Finds the outputs that a stack's expressions use, directly or through other values."""

    def __init__(self, stack: StackModule, names: list[PromiseName], given: Expr | None) -> None:
        self.stack, self.names, self.given = stack, names, given

    def place_of(self, name: PromiseName, variable: str) -> tuple[Span, str] | None:
        """The place of the expression that sets an input of a component. If the expression is `var.NAME`, the input
        NAME of the enclosing stack is followed to its place, and so on. Returns the place, and the name of the
        deployment's input at that place ("" if the place is not in a deployment). None if no place is found."""
        module = self._module(name.path)
        call = module.components.get(f"component.{name.name}") if module is not None else None
        path, inputs = name.path, call.inputs if call is not None else None
        for _ in range(_DEEPEST):
            node = dict(_items(inputs)).get(variable)
            if inputs is None or node is None:
                return None
            if not (isinstance(node, Traversal) and node.root == "var" and isinstance(node.steps[0], GetAttr)):
                return Span(inputs.source, node.start, node.end), variable if inputs is self.given else ""
            variable, span = node.steps[0].name, Span(inputs.source, node.start, node.end)
            outside = self._module(path[:-1]) if path else None
            call = outside.components.get(f"stack.{path[-1][0]}") if outside is not None else None
            inputs = call.inputs if call is not None else self.given
            if variable not in dict(_items(inputs)):
                return span, ""
            path = path[:-1]
        return None

    def inputs(self, name: PromiseName) -> dict[str, frozenset[tuple[str, str]]]:
        """{input: outputs from which its value comes, as (instance, output)} for a component instance."""
        module = self._module(name.path)
        call = module.components.get(f"component.{name.name}") if module is not None else None
        return {
            key: frozenset(self._outputs(node, name.path, _DEEPEST))
            for key, node in _items(call.inputs if call is not None else None)
        }

    def _outputs(self, node: Expression, path: Path, depth: int) -> Iterator[tuple[str, str]]:
        if not depth:
            return
        for mention in variables(node):
            if isinstance(mention, Traversal) and isinstance(mention.steps[0], GetAttr):
                yield from self._behind(mention.root, mention.steps[0].name, mention.steps[1:], path, depth - 1)

    def _behind(
        self, kind: str, name: str, steps: tuple[Step, ...], path: Path, depth: int
    ) -> Iterator[tuple[str, str]]:
        """The outputs of component instances on which a reference depends, as (instance, output). `kind` and `name`:
        "local" and "x" for the reference `local.x`."""
        module = self._module(path)
        if module is None:
            return
        if kind == "local" and name in module.locals:
            yield from self._outputs(module.locals[name].expr.node, path, depth)
        elif kind == "var" and path:
            outside = self._module(path[:-1])
            call = outside.components.get(f"stack.{path[-1][0]}") if outside is not None else None
            for key, node in _items(call.inputs if call is not None else None):
                if key == name:
                    yield from self._outputs(node, path[:-1], depth)
        elif kind in ("component", "stack"):
            index = steps[0].key if steps and isinstance(steps[0], GetIndex) else None
            rest = steps[1:] if index is not None else steps
            output = rest[0].name if rest and isinstance(rest[0], GetAttr) else ""
            if kind == "component":
                same = (one for one in self.names if (one.name, one.path) == (name, path) and index in (None, one.key))
                yield from ((str(one), output) for one in same if output)
                return
            deeper = {one.path[: len(path) + 1] for one in self.names if one.path[: len(path)] == path}
            for inner in sorted(deeper, key=str):
                child = self._module(inner) if len(inner) > len(path) and inner[-1][0] == name else None
                if child is not None and output in child.outputs and index in (None, inner[-1][1]):
                    yield from self._outputs(child.outputs[output].value.node, inner, depth)

    def _module(self, path: Path) -> StackModule | None:
        module: StackModule | None = self.stack
        for name, _ in path:
            module = module.children.get(name) if module is not None else None
        return module


def _items(inputs: Expr | None) -> Iterator[tuple[str, Expression]]:
    if inputs is not None and isinstance(inputs.node, Object):
        for item in inputs.node.items:
            if isinstance(item.key, Literal) and isinstance(item.key.value, str):
                yield item.key.value, item.value
