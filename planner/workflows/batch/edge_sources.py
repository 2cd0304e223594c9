"""What the edges of a fleet stand on: their kinds, the rules that make them, and the lines behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.explain.deriving_rules import Maker, makers
from planner.logic.programs.fleet import batch_program
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.model import FileLocation

Edge = tuple[str, str]


@frozen
class UnitEdgeSource:
    """`layers`: reference, order; `makers` the rules; `places` the lines that say so."""

    layers: tuple[str, ...]
    makers: tuple[Maker, ...]
    places: tuple[FileLocation, ...]


def grounds(analysis: Analysis) -> dict[Edge, UnitEdgeSource]:
    """The ground of each edge; none of an analysis from before."""
    if analysis.derived is None:
        return {}
    program, facts = batch_program(analysis.own), analysis.derived.facts
    database = evaluate(program, facts, ("edge", "edge_layer"))
    layers: dict[Edge, list[str]] = defaultdict(list)
    for unit, other, layer in database["edge_layer"]:
        layers[unit, other].append(layer)
    places: dict[Edge, set[FileLocation]] = defaultdict(set)
    for edge, source in _said(database):
        if isinstance(source, FileLocation):
            places[edge].add(source)
    made = makers(program, database, "edge", database["edge"])
    return {
        edge: UnitEdgeSource(
            tuple(sorted(layers[edge], reverse=True)),
            tuple(made.get(edge, ())),
            tuple(sorted(places[edge], key=lambda place: (place.file, place.line))),
        )
        for edge in database["edge"]
    }


def _said(database: Database) -> Iterator[tuple[Edge, object]]:
    """The facts that order two units, with their sources."""
    facts = database.facts
    for row in facts.relation("takes_output"):
        yield (row[0], row[2]), facts.source("takes_output", row)
    for row in facts.relation("dependency_block"):
        yield (row[0], row[2]), facts.source("dependency_block", row)
    for name in ("declared_after", "dependencies_path"):
        for row in facts.relation(name):
            yield (row[0], row[1]), facts.source(name, row)
    writers: dict[str, list[str]] = defaultdict(list)
    for unit, state in facts.relation("writes_state"):
        writers[state].append(unit)
    for row in facts.relation("reads_state"):
        for other in writers[row[2]]:
            yield (row[0], other), facts.source("reads_state", row)
