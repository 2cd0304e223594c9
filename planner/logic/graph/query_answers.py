"""Answers graph queries (verbs and set expressions) from derived relations, and selects the parts of the graph for
pictures of the answers."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.language.syntax.node_sets import NodeSet, SetCall
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.graph.build import Names, read_nodes
from planner.logic.model.graph import Node

if TYPE_CHECKING:
    from planner.logic.graph.verbs import Waiting

DRAWN = ("vertex", "edge", "instance", "instance_node", "deposed_node", "local_name")  # relations that pictures need
ABOUT = ("vertex", "edge", "instance_node", "deposed_node", "operation")  # relations between vertices and their objects

Actions: TypeAlias = dict[tuple[str, str], list[tuple[str, str]]]
"""planned actions: {(resource or instance, deposed key or ""): (instance, action) of each instance}"""


@frozen(eq=False)
class Picture:
    """The part of a graph that an answer shows. `nodes`: {name: vertex}. `edges`: (dependent, dependency), sorted."""

    nodes: dict[str, Node]
    edges: list[tuple[str, str]]


@frozen(eq=False)
class Answers:
    """The answer to a query: sorted rows of plain values (None for a missing value). The answer to a query without
    variables has no columns, and one empty row if the query is true. `picture`: None if it was not requested."""

    columns: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = field(factory=list)
    picture: Picture | None = None


def verb_of(expression: NodeSet) -> str:
    """The verb of an expression, if the expression is the use of a verb; otherwise ""."""
    return expression.verb if isinstance(expression, SetCall) else ""


def search(
    database: Database, expression: NodeSet, actions: Actions, limit: int, draw: bool
) -> tuple[Answers, list[Diagnostic]]:
    """(answer, warnings): the answer contains the vertices in the value of an expression. The answers of some verbs
    have more columns. The answer of `blast` contains the depth, the instance and its planned action. The answers of
    `somepath` and `allpaths` (the `limit` shortest paths) contain the steps. `draw`: whether a picture is added. Raises
    Failure for unknown vertices."""
    from planner.logic.graph.verbs import SetEvaluation, Waiting

    waiting = Waiting.of(database)
    sets = SetEvaluation(waiting, Names.of(database))
    verb = verb_of(expression)
    edges: set[tuple[str, str]] | None = None
    if isinstance(expression, SetCall) and verb in ("somepath", "allpaths"):
        starts, ends = map(sets.of, expression.arguments)
        result = _paths(waiting, starts, ends, verb, limit, sets.problems)
        nodes = {node for path in result for node in path}
        edges = {edge for path in result for edge in pairwise(path)}
        steps = [(number, step, node) for number, path in enumerate(result, 1) for step, node in enumerate(path)]
        is_one = verb == "somepath"
        answers = Answers(("path", "step", "node")[is_one:], [row[is_one:] for row in steps])
    elif isinstance(expression, SetCall) and verb == "blast":
        answers = _blast(database, waiting, sets.of(expression.arguments[0]), actions)
        nodes = {row[1] for row in answers.rows}
    else:
        nodes = sets.of(expression)
        answers = Answers(("node",), [(node,) for node in sorted(nodes)])
    if draw:
        answers = evolve(answers, picture=_picture(database, nodes, edges))
    return answers, sets.problems


def _paths(
    waiting: Waiting, starts: set[str], ends: set[str], verb: str, limit: int, problems: list[Diagnostic]
) -> list[list[str]]:
    from planner.logic.graph.verbs import count_paths, paths

    most = 1 if verb == "somepath" else limit
    items = list(islice(paths(waiting, starts, ends), most + 1))
    if not items and next(paths(waiting, ends, starts), None):
        detail = "The first vertex does not wait for the second, but the second waits for the first: swap them."
        problems.append(warning("query.other_way", "No path in this direction", detail))
    if verb == "allpaths" and len(items) > most:
        total = count_paths(waiting, starts, ends)
        listed = f"{most} of {total} paths" if total is not None else f"{most} paths"
        detail = f"Only {listed} between vertices are listed, the shortest first. To list more, use -limit=N."
        problems.append(warning("query.limit", "More paths exist", detail))
    return items[:most]


def _blast(database: Database, waiting: Waiting, starts: set[str], actions: Actions) -> Answers:
    """The answer of `blast`: a row for each affected vertex and each planned action of its instances. For a vertex of
    an apply graph, the action is the step that this vertex performs. For a vertex of a plan graph, there are rows for
    the actions of all instances of its resource."""
    from planner.logic.graph.verbs import blast

    own: dict[str, str] = dict(database["operation"])
    instances: dict[str, str] = dict(database["instance_node"])
    keys: dict[str, str] = dict(database["deposed_node"])
    resources = {name: object for name, kind, _, object in database["vertex"] if kind == "resource"}
    is_planning = not own.keys() & waiting.nodes
    rows: list[tuple[Any, ...]] = []
    for node, depth in sorted(blast(waiting, starts).items(), key=lambda item: (item[1], item[0])):
        instance = instances.get(node)
        planned: list[tuple[Any, Any]] = [(instance, own.get(node))]
        if is_planning:
            about = (instance or resources.get(node, ""), keys.get(node, ""))
            planned = actions.get(about) or planned
        rows += [(depth, node, *action) for action in planned]
    return Answers(("depth", "node", "instance", "action"), rows)


# ---------------------------------------------------------------- pictures


def _picture(database: Database, nodes: set[str], edges: set[tuple[str, str]] | None = None) -> Picture:
    """The picture with these vertices and with `edges` (None: all edges between these vertices)."""
    if edges is None:
        edges = {(a, b) for a, b in database["edge"] if a in nodes and b in nodes}
    known = read_nodes(database)
    return Picture({name: known[name] for name in sorted(nodes)}, sorted(edges))


def picture_of_rows(database: Database, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Picture:
    """The picture of the answer to a query. If one column contains vertices, the picture shows these vertices and all
    edges between them. If two columns contain vertices, their rows are shown as edges. The picture is empty if the
    answer has no rows. Raises Failure for any other answer."""
    if not rows:
        return Picture({}, [])
    nodes = {row[0] for row in database["vertex"]}
    vertices = [n for n in range(len(columns)) if all(row[n] in nodes for row in rows)]
    if not 1 <= len(vertices) <= 2:
        detail = "A picture needs an answer with one column of vertices, or with two columns whose rows are edges."
        raise Failure(error("query.no_picture", "Nothing to draw", detail))
    if len(vertices) == 1:
        return _picture(database, {row[vertices[0]] for row in rows})
    pairs = {(row[vertices[0]], row[vertices[1]]) for row in rows}
    return _picture(database, {node for pair in pairs for node in pair}, pairs)
