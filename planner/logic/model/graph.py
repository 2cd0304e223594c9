"""Graph: what the rules derived, ready to walk, draw and ask."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.numbered import Numbered
from planner.foundation.vocabulary.records import field, frozen


@frozen
class Node:
    """A vertex. `name` is the ecosystem's node name (`terraform_data.a (expand)`), `kind` says what work it stands
    for (the kinds are documented at `node` in rules/graph/nodes.dl), `module` is the module it belongs to (a
    configuration path `module.a.module.b`, or for instance nodes the module instance; "" for the root), and `object`
    what it is about: a resource key, a variable name, an instance address, a provider address, ..."""

    name: str
    kind: str
    module: str
    object: str
    extra: str = ""
    """a deposed key, where the node is about a deposed object"""


@frozen(eq=False)
class Graph:
    """Nodes by name, dependencies of each (sorted), before and after transitive reduction. `reduced[a]` holds every b
    that must be done before a, without those that others imply."""

    nodes: dict[str, Node]
    edge_rows: Collection[tuple[str, str]]
    """(a, b): b must be done before a; in no order"""
    reduced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()
    database: Any = field(default=None, repr=False)
    """the datalog Database that it was read from, for `why` and `query`"""
    program: Any = field(default=None, repr=False)
    """the rules that derived it"""

    @cached_property
    def edges(self) -> dict[str, tuple[str, ...]]:
        """All dependencies of each node. No walk needs them, so they are put in order when somebody asks."""
        return adjacency(self.nodes, self.edge_rows)

    @cached_property
    def numbered(self) -> Numbered:
        """What walks follow."""
        return Numbered(self.reduced or self.edges)


def adjacency(nodes: Iterable[str], rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """What each node has to its right in the rows, sorted."""
    by_left: dict[str, list[str]] = {name: [] for name in nodes}
    for dependent, dependency in rows:
        by_left[dependent].append(dependency)
    for dependencies in by_left.values():
        if len(dependencies) > 1:
            dependencies.sort()
    return {name: tuple(dependencies) for name, dependencies in by_left.items()}
