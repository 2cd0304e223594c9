"""Graph: the derivations of the rules, ready for walks, drawing and queries."""

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
    """A vertex. `name` is the ecosystem's node name (`terraform_data.a (expand)`), `kind` is the kind of work (the
    kinds are documented at `node` in rules/graph/nodes.dl), `module` is the module to which it belongs (a configuration
    path `module.a.module.b`, or for instance nodes the module instance; "" for the root), and `object` its subject: a
    resource key, a variable name, an instance address, a provider address, ..."""

    name: str
    kind: str
    module: str
    object: str
    extra: str = ""  # the deposed key, if the node belongs to a deposed object


@frozen(eq=False)
class Graph:
    """The nodes by name, and the dependencies of each node (sorted), before and after transitive reduction.
    `reduced[a]` contains every b that must be done before a, without dependencies that others imply."""

    nodes: dict[str, Node]
    edge_rows: Collection[tuple[str, str]]  # pairs (a, b), in any order: b must be done before a
    reduced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()
    database: Any = field(default=None, repr=False)  # the Database from which the graph was read, for `why` and `query`
    program: Any = field(default=None, repr=False)  # the program whose rules derived the graph

    @cached_property
    def edges(self) -> dict[str, tuple[str, ...]]:
        """All dependencies of each node. The dependencies are sorted on first use, because walks do not need the
        order."""
        return adjacency(self.nodes, self.edge_rows)

    @cached_property
    def numbered(self) -> Numbered:
        """The graph in the form that walks need."""
        return Numbered(self.reduced or self.edges)


def adjacency(nodes: Iterable[str], rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """For each node, the sorted names that are paired with it in the rows."""
    by_left: dict[str, list[str]] = {name: [] for name in nodes}
    for dependent, dependency in rows:
        by_left[dependent].append(dependency)
    for dependencies in by_left.values():
        if len(dependencies) > 1:
            dependencies.sort()
    return {name: tuple(dependencies) for name, dependencies in by_left.items()}


# Sources of facts, as proofs show them.


@frozen
class StateEntry:
    """An entry in the state: the address of an instance or output."""

    address: str


@frozen
class CommandLine:
    """An argument of the command line, as written."""

    argument: str


@frozen
class Unquoted(Span):
    """A position in a file whose text must not be shown."""

    @classmethod
    def of(cls, header: Span) -> Span:
        """The position of a declaration. The line of a declaration may be shown only if it contains nothing but the
        header of a block."""
        line = header.source.line_text(header.line)
        return header if line.rstrip().endswith("{") else cls(header.source, header.start, header.end)


def source_json(source: Any) -> dict[str, Any]:
    """The source of a leaf in the proof format: a position in a file, a state entry, or a command line argument."""
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
