"""Graph: what the rules derived, ready to walk, draw and ask."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from planner.vocabulary.diagnostic import Diagnostic


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
    """Nodes by name, dependencies of each (sorted), before and after transitive reduction. `edges[a]` holds every b
    that must be done before a."""

    nodes: dict[str, Node]
    edges: dict[str, tuple[str, ...]]
    reduced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()
    database: Any = field(default=None, repr=False)
    """the datalog Database that it was read from, for `why` and `query`"""
    program: Any = field(default=None, repr=False)
    """the rules that derived it"""

    @property
    def edge_count(self) -> int:
        return sum(map(len, self.edges.values()))
