"""Surveys a deployment from the files of its stack, without a plan: its states, its files, and the units whose outputs
it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.config.stack_files.model import Deployments, StackConfig
from planner.language.syntax import nodes
from planner.language.syntax.body import variables
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.batch.model import FileLocation, Linked, Published, PublishedRead, Request, Survey
from planner.workflows.batch.unit_setup import NOT_INSTALLED
from planner.workflows.stacks.init import init_stack
from planner.workflows.stacks.loading import component_configs, read_stack
from planner.workflows.stacks.names import PromiseName
from planner.workflows.stacks.settings import FILE, place_of
from planner.workflows.stacks.states import workspace_of
from planner.world.state.backend import state_identity

_INSTANCE = PromiseName("component", "an0instance0of0a0component")
_LOCKS = (".terraform.lock.hcl", FILE)


def survey_deployment(request: Request, folder: str) -> tuple[Survey, bool]:
    """Survey a deployment; the working directory is the directory of its stack. Returns the survey, and whether it
    remains valid until a file changes. If the stack cannot be read, the survey is empty. `folder`: prefix of the paths
    in source locations."""
    _look()
    try:
        stack, problems = read_stack(".")
        if needs_init(problems):
            init_stack(".")  # the plan of the deployment reports problems
            RECORDER.begin_again()
            _look()
            stack, problems = read_stack(".")
        is_whole = not needs_init(problems)
        kind, settings = place_of(".")
    except Failure:
        return Survey(request.unit, ""), False
    deployment = request.deployment or ""
    state, parts = "", ("", "", "")
    if deployment:
        state = state_identity(kind, settings, workspace_of(deployment))
        parts = state_identity(kind, settings, workspace_of(deployment, _INSTANCE)).partition(_INSTANCE.name)
    files = [os.path.abspath(name) for name in (*stack.files, *(n for n in _LOCKS if os.path.exists(n)))]
    for config in component_configs(stack.root):
        files += [os.path.abspath(name) for name in config.files]
    return (
        Survey(
            request.unit,
            state,
            (),
            tuple(sorted(set(files))),
            (),
            None,
            tuple(sorted(stack.root.outputs)),
            (),
            stack=Linked(
                os.path.realpath("."),
                parts[0],
                parts[2],
                tuple(_components(stack)),
                tuple(_reads(stack, request, folder)),
                tuple(_published(stack, deployment, folder)),
            ),
        ),
        is_whole,
    )


def _look() -> None:
    """Record for the cache that the survey depends on the stack's optional files, also if they are missing."""
    for name in _LOCKS:
        RECORDER.look(name)


def needs_init(problems: list[Diagnostic]) -> bool:
    """Whether diagnostics report that a called module or stack is not installed, so that init is needed."""
    return any(problem.code == NOT_INSTALLED for problem in problems)


def _components(stack: StackConfig) -> list[str]:
    result = []
    for module in stack.root.walk():
        above = "".join(f"stack.{name}." for name in module.path)
        result += [f"{above}{key}" for key, one in sorted(module.components.items()) if one.kind == "component"]
    return result


def _reads(stack: StackConfig, request: Request, folder: str) -> list[PublishedRead]:
    deployments = stack.deployments
    places = {name: value for kind, name, value in request.around if kind == "upstream"}
    deployment = deployments.deployments.get(request.deployment or "")
    table: dict[tuple[str, str, str], PublishedRead] = {}
    wanted = [("", deployment.inputs)] if deployment is not None else []
    wanted += [(name, published.value) for name, published in sorted(deployments.published.items())]
    for published, expr in wanted:
        for name, output, _ in mentioned(deployments, expr, "upstream_input"):
            upstream = deployments.upstream.get(name)
            if upstream is None:
                continue
            real = os.path.realpath(places.get(upstream.source, upstream.source))
            table[published, name, output] = PublishedRead(
                name, real, output, FileLocation.below(folder, upstream.span), published
            )
    return [table[key] for key in sorted(table)]


def _published(stack: StackConfig, deployment: str, folder: str) -> list[Published]:
    deployments = stack.deployments
    return [
        Published(name, FileLocation.below(folder, published.span))
        for name, published in sorted(deployments.published.items())
        if any(one == deployment for one, _, _ in mentioned(deployments, published.value, "deployment"))
    ]


def mentioned(deployments: Deployments, expr: Expr | None, root: str) -> Iterator[tuple[str, str, Span]]:
    """References to objects below `root` (upstream_input or deployment) in an expression and in the locals that it
    uses, as (name, attribute, place). The attribute is "" for a reference to the whole object."""
    waiting = [] if expr is None else [expr]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        for node in variables(one.node):
            if not isinstance(node, nodes.Traversal) or not isinstance(node.steps[0], nodes.GetAttr):
                continue
            name = node.steps[0].name
            if node.root == "local" and name in deployments.locals and name not in seen:
                seen.add(name)
                waiting.append(deployments.locals[name].expr)
            elif node.root == root:
                yield name, _attribute(node.steps[1:]), Span(one.source, node.start, node.end)


def _attribute(steps: tuple[nodes.Step, ...]) -> str:
    if not steps:
        return ""
    first = steps[0]
    if isinstance(first, nodes.GetAttr):
        return first.name
    key = getattr(first, "key", "")
    return key if isinstance(key, str) else ""
