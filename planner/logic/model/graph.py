"""The model of the graphs that the rules derive, for walks, pictures and queries."""

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
    """A vertex. `name`: its name as in OpenTofu and Terraform, such as `terraform_data.a (expand)`. `kind`: its kind,
    documented at `node_base` in rules/graph/nodes.dl. `module`: the address of its module, such as `module.a.module.b`,
    or for an instance of its module instance; "" for the root module. `object`: the object that it represents, such as
    a resource, a variable, the address of an instance or of a provider configuration."""

    name: str
    kind: str
    module: str
    object: str
    extra: str = ""  # the deposed key of a deposed object


@frozen(eq=False)
class Graph:
    """A graph. `nodes`: {name: vertex}. `reduced`: {vertex: the vertices that must be done before it}, sorted, after
    transitive reduction: without the vertices that follow from the dependencies of other vertices."""

    nodes: dict[str, Node]
    edge_rows: Collection[tuple[str, str]]  # pairs (a, b) in any order, where b must be done before a
    reduced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()
    database: Any = field(default=None, repr=False)  # the Database of the graph, for `why` and `query`
    program: Any = field(default=None, repr=False)  # the program that derived the graph

    @cached_property
    def edges(self) -> dict[str, tuple[str, ...]]:
        """{vertex: all its dependencies, sorted}. They are sorted when they are first used, because walks do not need
        the order."""
        return adjacency(self.nodes, self.edge_rows)

    @cached_property
    def numbered(self) -> Numbered:
        return Numbered(self.reduced or self.edges)


def adjacency(nodes: Iterable[str], rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """{node: the sorted right names of the rows in which it is the left name}. Nodes without such rows are included,
    with an empty tuple."""
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
    """The source of a fact that comes from an entry in the state: an instance or output."""

    address: str


@frozen
class CommandLine:
    """The source of a fact that comes from an argument on the command line, as it is written."""

    argument: str


@frozen
class Unquoted(Span):
    """A position in a file whose text must not be shown."""

    @classmethod
    def of(cls, header: Span) -> Span:
        """The position of a declaration. Its text may be shown only if the line is only the header of a block."""
        line = header.source.line_text(header.line)
        return header if line.rstrip().endswith("{") else cls(header.source, header.start, header.end)


def source_json(source: Any) -> dict[str, Any]:
    """The source of a fact in the proof format: a position in a file, an entry in the state, or an argument on the
    command line. Raises TypeError for other values."""
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
