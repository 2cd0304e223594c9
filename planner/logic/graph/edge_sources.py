"""Sources of a graph's edges: their kinds, the rules that derive them, and the lines of files that cause them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.deriving_rules import Maker, makers, relations_read
from planner.logic.graph.cycles import ORDER
from planner.logic.model.graph import Graph, source_json

LAYERS = ("reference", "order", "provider", "module", "destroy")
"""the kinds of edges, as distinguished by rules/shared/order.dl"""
RELATIONS = ("edge_layer", "edge_mention")
"""the relations that a graph must have been built with"""
MOST_PLACES = 3
"""lines that an edge is shown with"""
_MENTIONS = ("reference", "validation_reference", "import_reference", "destroy_reference", "action_reference")

Edge: TypeAlias = tuple[str, str]


@frozen
class EdgeSource:
    """`layers` as in LAYERS, `makers` the rules, `sources` as in proofs: files with line and snippet."""

    layers: tuple[str, ...] = ()
    makers: tuple[Maker, ...] = ()
    sources: tuple[dict[str, Any], ...] = field(factory=tuple)


def relations_for_grounds(program: RuleProgram) -> tuple[str, ...]:
    """The relations that a graph must keep for `grounds`, which would otherwise derive all relations again."""
    return tuple(sorted({*RELATIONS, *relations_read(program, "edge")}))


def grounds(graph: Graph, edges: AbstractSet[Edge]) -> Iterator[tuple[Edge, EdgeSource]]:
    """The sources of each of these edges, sorted."""
    database = graph.database
    layers: dict[Edge, list[str]] = defaultdict(list)
    for dependent, dependency, layer in database["edge_layer"]:
        if (edge := (dependent, dependency)) in edges:
            layers[edge].append(layer)
    mentions: dict[Edge, list[tuple[str, str]]] = defaultdict(list)
    for dependent, dependency, target, path in database["edge_mention"]:
        if (edge := (dependent, dependency)) in edges:
            mentions[edge].append((target, path))
    objects = speakers(graph)
    stated = [name for name in _MENTIONS if database.facts.rows(name)]
    made = {**makers(graph.program, database, "edge", edges), **_ordered(graph, mentions, objects)}
    for edge in sorted(edges):
        sources = [
            source
            for target, path in sorted(mentions.get(edge, ()))
            if (source := _source(graph, stated, objects.get(edge[0], ()), target, path)) is not None
        ]
        known = {(s.get("file"), s.get("line"), s.get("state")): s for s in sources}
        yield (
            edge,
            EdgeSource(
                tuple(sorted(layers.get(edge, ()), key=LAYERS.index)),
                tuple(made.get(edge, ())),
                tuple(list(known.values())[:MOST_PLACES]),
            ),
        )


def _ordered(
    graph: Graph, mentions: dict[Edge, list[tuple[str, str]]], objects: dict[str, tuple[str, ...]]
) -> dict[Edge, list[Maker]]:
    """The sources of edges that only users' rules require: those rules, without unwritten references."""
    asked = {
        (dependent, dependency): {(target, object) for target, _ in said for object in objects[dependent]}
        for (dependent, dependency), said in mentions.items()
        if {path for _, path in said} == {ORDER}
    }
    if not asked:
        return {}
    rows = frozenset(row for rows in asked.values() for row in rows)
    rules = {name: makers(graph.program, graph.database, name, rows) for name in ("ordered", "order_before")}
    return {
        edge: [maker for name in rules for row in sorted(rows) for maker in rules[name].get(row, ())]
        for edge, rows in asked.items()
    }


def speakers(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The objects whose configuration each vertex evaluates: its own object, or the resource of its instance."""
    database = graph.database
    resources: dict[str, str] = {row[0]: row[1] for row in database["instance"]}
    instances: dict[str, str] = dict(database["instance_node"])
    result: dict[str, tuple[str, ...]] = {}
    for name, _, _, object in database["vertex"]:
        instance = instances.get(name)
        result[name] = (object,) if instance is None else (resources.get(instance, instance), instance)
    return result


def _source(graph: Graph, stated: list[str], objects: tuple[str, ...], target: str, path: str) -> dict[str, Any] | None:
    facts = graph.database.facts
    for object in objects:
        for predicate in stated:
            source = facts.source(predicate, (object, target, path))
            if source is not None:
                return source_json(source)
    return None


def declarations(graph: Graph) -> dict[str, dict[str, Any]]:
    """The declaration of each vertex's object if it is in a file, as a source in the format of proofs."""
    facts = graph.database.facts
    places: dict[str, Any] = {}
    for predicate in ("resource", "local", "output_value", "input_variable", "child_module", "check", "provider_block"):
        for row in facts.relation(predicate):
            source = facts.source(predicate, row)
            if source is not None:
                places.setdefault(row[0], source)
    result = {}
    for name, objects in speakers(graph).items():
        source = next((places[o] for o in objects if o in places), None)
        if source is not None:
            result[name] = source_json(source)
    return result
