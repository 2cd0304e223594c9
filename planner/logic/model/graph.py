"""The model of graphs that the rules derive, for walks, drawing and queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from planner.foundation.vocabulary.address_set import Numbered
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span


@frozen
class Node:
    """A vertex. `name`: the ecosystem's node name (`terraform_data.a (expand)`). `kind`: the kind of vertex, documented
    at `node_base` in rules/graph/nodes.dl. `module`: a configuration path (`module.a.module.b`) or, for instances, the
    module instance; "" for the root. `object`: its subject, such as a resource key, a variable name, an instance
    address or a provider address."""

    name: str
    kind: str
    module: str
    object: str
    extra: str = ""  # the deposed key of a deposed object


@frozen(eq=False)
class Graph:
    """Vertices by name, and their sorted dependencies before and after transitive reduction. `reduced[a]`: the vertices
    that must be done before a, without vertices that follow from the dependencies of other vertices."""

    nodes: dict[str, Node]
    edge_rows: Collection[tuple[str, str]]  # pairs (a, b) in any order, where b must be done before a
    reduced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()
    database: Any = field(default=None, repr=False)  # the Database of the graph, for `why` and `query`
    program: Any = field(default=None, repr=False)  # the program that derived the graph

    @cached_property
    def edges(self) -> dict[str, tuple[str, ...]]:
        """All dependencies of each vertex, sorted on first use, because walks do not need the order."""
        return adjacency(self.nodes, self.edge_rows)

    @cached_property
    def numbered(self) -> Numbered:
        return Numbered(self.reduced or self.edges)


def adjacency(nodes: Iterable[str], rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """{left name of rows: the sorted right names of these rows}. Nodes without rows are included, with an empty
    tuple."""
    by_left: dict[str, list[str]] = {name: [] for name in nodes}
    for dependent, dependency in rows:
        by_left[dependent].append(dependency)
    for dependencies in by_left.values():
        if len(dependencies) > 1:
            dependencies.sort()
    return {name: tuple(dependencies) for name, dependencies in by_left.items()}


# Sources of facts in proofs.


@frozen
class StateEntry:
    """An entry in the state: an instance or output."""

    address: str


@frozen
class CommandLine:
    """An argument on the command line, as written."""

    argument: str


@frozen
class Unquoted(Span):
    """A position in a file whose text must not be shown."""

    @classmethod
    def of(cls, header: Span) -> Span:
        """The position of a declaration. The line of the position may be shown only if it contains nothing but the
        header of a block."""
        line = header.source.line_text(header.line)
        return header if line.rstrip().endswith("{") else cls(header.source, header.start, header.end)


def source_json(source: Any) -> dict[str, Any]:
    """The source of a leaf in the proof format: a file position, a state entry, or a command line argument. Raises
    TypeError for other values."""
    if isinstance(source, Span):
        position = source.start_position
        place = {"file": source.filename, "line": position.line, "column": position.column}
        if isinstance(source, Unquoted):
            return place
        return {**place, "snippet": source.source.line_text(position.line)}
    if isinstance(source, StateEntry):
        return {"state": source.address}
    if isinstance(source, CommandLine):
        return {"command_line": source.argument}
    raise TypeError(f"not a source of a fact: {source!r}")
