"""Sources of the edges of a graph: their kinds, the rules that derive them, and the lines in files that cause them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.deriving_rules import FilledReason, derivations, relations_read
from planner.logic.datalog.language.values import Row
from planner.logic.graph.cycles import ORDER
from planner.logic.model.graph import Graph

LAYERS = ("reference", "order", "provider", "module", "destroy")
"""the kinds of edges that rules/shared/order.dl distinguishes"""
RELATIONS = ("edge_layer", "edge_mention", "has_too_many_edges")
"""the relations with which a graph must have been built"""
MOST_EDGES = 20_000
"""the number of edges above which pages omit implied edges"""
MOST_PLACES = 3
"""the maximum number of lines that are shown for one edge"""
_MENTIONS = ("reference", "validation_reference", "import_reference", "destroy_reference", "action_reference")

Edge: TypeAlias = tuple[str, str]


class EdgeSource(NamedTuple):
    """`layers` as in LAYERS; `reasons` of the rules, with their values filled in; `sources` of facts: objects with a
    place."""

    layers: tuple[str, ...]
    reasons: tuple[FilledReason, ...]
    sources: tuple[Any, ...]


def relations_for_grounds(program: RuleProgram, facts: FactBase) -> tuple[str, ...]:
    """The relations that a graph of these facts must keep for `grounds`; otherwise `grounds` would derive all relations
    again."""
    return tuple(sorted({*RELATIONS, *relations_read(program, facts, "edge")}))


def grounds(graph: Graph, edges: AbstractSet[Edge]) -> Iterator[tuple[Edge, EdgeSource]]:
    """The sources of each of these edges, unordered."""
    database = graph.database
    layers: dict[Edge, tuple[str, ...]] = {}
    sorted_layers: dict[tuple[str, ...], tuple[str, ...]] = {(): ()}
    for dependent, dependency, layer in database["edge_layer"]:
        if (edge := (dependent, dependency)) in edges:
            several = (*layers.get(edge, ()), layer)
            layers[edge] = sorted_layers.get(several) or sorted_layers.setdefault(
                several, tuple(sorted(several, key=LAYERS.index))
            )
    mentions: dict[Edge, list[Row]] = defaultdict(list)
    is_ordered = False
    for row in database["edge_mention"]:
        if (edge := row[:2]) in edges:
            mentions[edge].append(row)
            is_ordered = is_ordered or row[3] == ORDER
    objects = speakers(graph)
    stated = [name for name in _MENTIONS if database.facts.rows(name)]
    derived = derivations(graph.program, database, "edge", edges)
    if is_ordered:
        derived.update(_ordered(graph, mentions, objects))
    for edge in edges:
        sources: list[Any] = []
        for _, _, target, path in sorted(mentions.pop(edge, ())):
            source = _source(graph, stated, objects.get(edge[0], ()), target, path)
            if source is not None:
                sources.append(source)
        if len(sources) > 1:
            sources = list({_place(source): source for source in sources}.values())[:MOST_PLACES]
        yield edge, EdgeSource(layers.get(edge, ()), derived.pop(edge, ()), tuple(sources))


def _place(source: Any) -> object:
    return (source.source.filename, source.line) if isinstance(source, Span) else source


def _ordered(
    graph: Graph, mentions: dict[Edge, list[Row]], objects: dict[str, tuple[str, ...]]
) -> dict[Edge, tuple[FilledReason, ...]]:
    """The sources of edges that only users' rules require: these rules. References that are not written anywhere are
    omitted."""
    asked = {
        edge: {(row[2], object) for row in those for object in objects[edge[0]]}
        for edge, those in mentions.items()
        if all(row[3] == ORDER for row in those)
    }
    rows = frozenset(row for rows in asked.values() for row in rows)
    rules = [derivations(graph.program, graph.database, name, rows) for name in ("ordered", "order_before")]
    return {
        edge: tuple([one for rule in rules for row in sorted(rows) for one in rule.get(row, ())])
        for edge, rows in asked.items()
    }


def speakers(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The objects whose configuration each vertex evaluates: its own object, or for an instance its resource."""
    database = graph.database
    resources: dict[str, str] = {row[0]: row[1] for row in database["instance"]}
    instances: dict[str, str] = dict(database["instance_node"])
    result: dict[str, tuple[str, ...]] = {}
    for name, _, _, object in database["vertex"]:
        instance = instances.get(name)
        result[name] = (object,) if instance is None else (resources.get(instance, instance), instance)
    return result


def _source(graph: Graph, stated: list[str], objects: tuple[str, ...], target: str, path: str) -> Any:
    facts = graph.database.facts
    for object in objects:
        for predicate in stated:
            source = facts.source(predicate, (object, target, path))
            if source is not None:
                return source
    return None


def declarations(graph: Graph) -> dict[str, Any]:
    """The declaration of the object of each vertex, if it is in a file, as the source of a fact."""
    facts = graph.database.facts
    places: dict[str, Any] = {}
    for predicate in ("resource", "local", "output_value", "input_variable", "child_module", "check", "provider_block"):
        for row in facts.relation(predicate):
            if row[0] not in places:
                source = facts.source(predicate, row)
                if source is not None:
                    places[row[0]] = source
    result = {}
    for name, objects in speakers(graph).items():
        source = next((places[o] for o in objects if o in places), None)
        if source is not None:
            result[name] = source
    return result
