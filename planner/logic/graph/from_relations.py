"""Derived relations to Graph: no decision here, only the lift from tuples to values."""

from __future__ import annotations

from operator import itemgetter

from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.model.graph import Graph, Node, adjacency

_NAME = itemgetter(0)

WANTED = (
    "vertex",
    "edge",
    "reduced_edge",
    "in_cycle",
    "instance_node",
    "deposed_node",
    "local_name",
    "asks_provider",
    "asks_configured",
    "replacement_first",
    "data_waits",
    "data_waits_for_module",
    "provider_missing",
    "provider_unresolved",
    "named_in_part",
    "removed_by",
    "order_unknown",
    "order_before",
    "recorded_dependency",
    "mentions_itself",
    "instance",
    "needs_no_configuration",
    "uses_configuration",
    "new_deposed",
    "given_up",
    "calls_nothing",
    "function_configuration",
    "function_awaited",
    "calls_named",
)
"""the relations that a walk needs of the rules"""


def read_graph(program: RuleProgram, database: Database) -> Graph:
    """The graph that the relations describe, everything sorted."""
    nodes = read_nodes(database)
    return Graph(
        nodes,
        database["edge"],
        adjacency(nodes, database["reduced_edge"]),
        database=database,
        program=program,
    )


def read_nodes(database: Database) -> dict[str, Node]:
    """The vertices by name, sorted."""
    places = {row[0]: row[3] for row in database["instance"]}
    instance_of: dict[str, str] = {row[0]: row[1] for row in database["instance_node"]}
    deposed: dict[str, str] = {row[0]: row[1] for row in database["deposed_node"]}
    names: dict[str, str] = dict(database["local_name"])
    nodes: dict[str, Node] = {}
    for name, kind, module, _ in sorted(database["vertex"], key=_NAME):
        if name in instance_of:
            instance = instance_of[name]
            nodes[name] = Node(name, kind, places[instance], instance, deposed.get(name, ""))
        else:
            nodes[name] = Node(name, kind, module, names[name])
    return nodes
