"""Finds the sources of a graph's edges: their kinds, the rules that derive them, and the source lines that cause
them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress, product
from typing import Any, NamedTuple, TypeAlias

from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.deriving_rules import DerivedRows, RuleReason, derivations, relations_read
from planner.logic.datalog.language.values import Row
from planner.logic.graph.cycles import ORDER
from planner.logic.model.graph import Graph

LAYERS = ("reference", "order", "provider", "module", "destroy")  # kinds of edges in rules/shared/order.dl
RELATIONS = ("edge_layer", "edge_mention", "has_too_many_edges", "omitted_read")  # relations that a graph needs
MAX_EDGES = 20_000  # in graphs with more edges than this, pages omit implied edges
MAX_PLACES = 3  # maximum number of lines shown for one edge
_MENTIONS = ("reference", "validation_reference", "import_reference", "destroy_reference", "action_reference")
_ORDERS = ("ordered", "order_before")

Edge: TypeAlias = tuple[str, str]


class EdgeSources(NamedTuple):
    """The kinds, reasons and places of edges. `layers`: {edge: its kinds}, as in LAYERS. `reasons`: the edges that each
    rule derives. `places`: {edge: at most MAX_PLACES sources of its facts}, for the edges that follow from mentions.
    `more`: {edge: number of further lines with sources, which are not in `places`}."""

    layers: Mapping[Edge, tuple[str, ...]]
    reasons: Iterable[DerivedRows]
    places: Mapping[Edge, Sequence[Any]]
    more: Mapping[Edge, int]


def relations_for_grounds(program: RuleProgram, facts: FactBase) -> tuple[str, ...]:
    """The names of the relations that a graph of these facts must keep for `grounds`, sorted. If the graph does not
    keep them, `grounds` derives all relations again."""
    return tuple(sorted({*RELATIONS, *relations_read(program, facts, "edge")}))


def grounds(graph: Graph, edges: AbstractSet[Edge]) -> EdgeSources:
    """The sources of the given edges, perhaps with the sources of further edges."""
    database = graph.database
    layers: dict[Edge, tuple[str, ...]] = {}
    sorted_layers: dict[tuple[str, ...], tuple[str, ...]] = {}
    for dependent, dependency, layer in database["edge_layer"]:
        edge = dependent, dependency
        several = (*layers.get(edge, ()), layer)
        layers[edge] = sorted_layers.get(several) or sorted_layers.setdefault(
            several, tuple(sorted(several, key=LAYERS.index))
        )
    objects = evaluated_objects(graph)
    stated = [database.facts.sources(name) for name in _MENTIONS if database.facts.rows(name)]
    places: dict[Edge, Sequence[Any]] = {}
    more: dict[Edge, int] = {}
    mentions: dict[Edge, list[Row]] = defaultdict(list)
    is_ordered = False
    for row in database["edge_mention"]:
        mentions[row[:2]].append(row)
        is_ordered = is_ordered or row[3] == ORDER
    for edge, those in mentions.items():
        sources = []
        for _, _, target, path in sorted(those) if len(those) > 1 else those:
            source = _source(stated, objects.get(edge[0], ()), target, path)
            if source is not None:
                sources.append(source)
        if len(sources) > 1:
            sources = list({_place(source): source for source in sources}.values())
            if len(sources) > MAX_PLACES:
                more[edge] = len(sources) - MAX_PLACES
                del sources[MAX_PLACES:]
        if sources:
            places[edge] = sources
    reasons: Iterable[DerivedRows] = derivations(graph.program, database, "edge", edges)
    if is_ordered:
        reasons = _ordered_reasons(graph, reasons, {edge: mentions[edge] for edge in edges & mentions.keys()}, objects)
    return EdgeSources(layers, reasons, places, more)


def _place(source: Any) -> object:
    return (source.source.filename, source.line) if isinstance(source, Span) else source


def _ordered_reasons(
    graph: Graph,
    reasons: Iterable[DerivedRows],
    mentions: Mapping[Edge, list[Row]],
    objects: Mapping[str, tuple[str, ...]],
) -> Iterator[DerivedRows]:
    """The reasons of edges. If only users' rules require an edge, these rules are its reasons, because the references
    that they derive are not in any file."""
    asked = {
        edge: {(row[2], object) for row in those for object in objects[edge[0]]}
        for edge, those in mentions.items()
        if all(row[3] == ORDER for row in those)
    }
    for derived in reasons:
        kept = [edge not in asked for edge in derived.rows]
        columns = [list(compress(column, kept)) for column in derived.columns]
        if any(kept):
            yield DerivedRows(derived.reason, list(compress(derived.rows, kept)), columns)
    wanted = frozenset(row for rows in asked.values() for row in rows)
    known: dict[tuple[str, Row], list[tuple[RuleReason, tuple[str, ...]]]] = defaultdict(list)
    for name in _ORDERS:
        for derived in derivations(graph.program, graph.database, name, wanted):
            for row, values in zip(derived.rows, derived.values(), strict=True):
                known[name, row].append((derived.reason, values))
    for edge, rows in asked.items():
        for place in product(_ORDERS, sorted(rows)):
            for reason, values in known.get(place, ()):
                yield DerivedRows(reason, [edge], [(value,) for value in values])


def evaluated_objects(graph: Graph) -> dict[str, tuple[str, ...]]:
    """{vertex: objects whose configuration it evaluates}. The objects are (object,) or, for an instance, (resource,
    instance)."""
    database = graph.database
    resources: dict[str, str] = {row[0]: row[1] for row in database["instance"]}
    instances: dict[str, str] = dict(database["instance_node"])
    result: dict[str, tuple[str, ...]] = {}
    for name, _, _, object in database["vertex"]:
        instance = instances.get(name)
        result[name] = (object,) if instance is None else (resources.get(instance, instance), instance)
    return result


def _source(stated: Sequence[Mapping[Row, Any]], objects: tuple[str, ...], target: str, path: str) -> Any:
    for object in objects:
        for sources in stated:
            source = sources.get((object, target, path))
            if source is not None:
                return source
    return None


def declarations(graph: Graph) -> dict[str, Any]:
    """{vertex: source of the fact that declares its object} for the objects that are declared in files."""
    facts = graph.database.facts
    places: dict[str, Any] = {}
    for predicate in ("resource", "local", "output_value", "input_variable", "child_module", "check", "provider_block"):
        sources = facts.sources(predicate)
        for row in facts.relation(predicate):
            source = sources.get(row)
            if source is not None:
                places.setdefault(row[0], source)
    result = {}
    for name, objects in evaluated_objects(graph).items():
        for object in objects:
            if object in places:
                result[name] = places[object]
                break
    return result
