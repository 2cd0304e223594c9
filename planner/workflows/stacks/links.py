"""References of deployment files to other stacks and to deployments, without any value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr
from planner.language.syntax import nodes
from planner.language.syntax.body import variables

if TYPE_CHECKING:
    from planner.language.config.stack_files.model import Deployments


def mentioned(said: Deployments, expr: Expr | None, root: str) -> Iterator[tuple[str, str, Span]]:
    """The references of an expression, with the locals that it uses, to objects below `root` (upstream_input or
    deployment): the name, its attribute ("" where it is taken as a whole), and where."""
    waiting = [] if expr is None else [expr]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        for node in variables(one.node):
            if not isinstance(node, nodes.Traversal) or not isinstance(node.steps[0], nodes.GetAttr):
                continue
            name = node.steps[0].name
            if node.root == "local" and name in said.locals and name not in seen:
                seen.add(name)
                waiting.append(said.locals[name].expr)
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
