"""Graphs in the DOT language, with names and layout as the ecosystem's drawing tools expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.foundation.vocabulary.address import AddressError, ResourceAddress, join, parse_address
from planner.logic.model.graph import Graph, Node

NOTES = frozenset(("root_variable", "output_destroy", "stack"))
DIAMONDS = frozenset(("provider",))
BOXES = frozenset(
    (
        "resource",
        "orphan",
        "deposed",
        "plan_destroy",
        "instance_apply",
        "instance_destroy",
        "deposed_destroy",
        "instance_forget",
        "deposed_forget",
        "component",
    )
)


def dot(graph: Graph, draw_cycles: bool = False, verbose: bool = False) -> str:
    """The graph after transitive reduction. Only resources, providers and root variables have their own lines; other
    vertices occur only in edges. `draw_cycles`: whether edges of cycles are red. `verbose`: whether to include vertices
    that close providers."""
    lines = ["digraph {", '\tcompound = "true"', '\tnewrank = "true"', '\tsubgraph "root" {']
    for name in sorted(graph.nodes, key=lambda name: _id(name)[:-1]):  # sorted as they are printed: [0] before [\"a\"]
        node = graph.nodes[name]
        shape = "diamond" if verbose and node.kind == "provider_close" else _shape(node)
        if shape:
            lines.append(f"\t\t{_id(name)} [label = {quote(_label(node))}, shape = {quote(shape)}]")
    cyclic = _cyclic_edges(graph) if draw_cycles else set()
    edges = []
    for dependent, dependencies in graph.reduced.items():
        for dependency in dependencies:
            line = f"{_id(dependent)} -> {_id(dependency)}"
            edges.append(line)
            if (dependent, dependency) in cyclic:
                edges.append(f'{line} [color = "red", penwidth = "2.0"]')
    lines += [f"\t\t{edge}" for edge in sorted(edges)]
    return "\n".join([*lines, "\t}", "}", ""])


def _shape(node: Node) -> str:
    return "box" if node.kind in BOXES else "diamond" if node.kind in DIAMONDS else "note" if node.kind in NOTES else ""


def _label(node: Node) -> str:
    """The label of a node: the address of its resource without keys; for a node without a resource, its name."""
    if node.kind not in BOXES:
        return node.name
    text = node.object if node.object.startswith(f"{node.module}.") else join(node.module, node.object)
    try:
        address = parse_address(text)
    except AddressError:
        return node.name
    return str(address.config) if isinstance(address, ResourceAddress) else node.name


def _cyclic_edges(graph: Graph) -> set[tuple[str, str]]:
    """The edges (dependent, dependency) between two nodes of a cycle, as the rules derive them; empty if the graph has
    no database."""
    if graph.database is None:
        return set()
    cycle_of = dict(graph.database["in_cycle"])
    return {
        (a, b)
        for a, dependencies in graph.edges.items()
        for b in dependencies
        if a in cycle_of and cycle_of[a] == cycle_of.get(b)
    }


def _id(name: str) -> str:
    return quote(f"[root] {name}")


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def subgraph_dot(nodes: Mapping[str, Node], edges: Iterable[tuple[str, str]]) -> str:
    """A part of a graph in DOT, with a line for each vertex and each edge, without the filters of `dot`."""
    lines = ["digraph {", '\tcompound = "true"', '\tnewrank = "true"', '\tsubgraph "root" {']
    for name in sorted(nodes):
        shape = _shape(nodes[name]) or "ellipse"
        lines.append(f"\t\t{_id(name)} [label = {quote(name)}, shape = {quote(shape)}]")
    lines += [f"\t\t{_id(a)} -> {_id(b)}" for a, b in sorted(edges)]
    return "\n".join([*lines, "\t}", "}", ""])
