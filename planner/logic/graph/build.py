"""Builds graphs, by evaluating the graph rules on the facts of one walk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from planner.foundation.support.disk import read_text
from planner.foundation.support.trace import as_step
from planner.foundation.vocabulary.address import AddressError, parse_address
from planner.foundation.vocabulary.address_set import Addresses, AddressSet
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean, instead
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.datalog.engine.components import Behind
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.model.graph import Graph, Node, adjacency
from planner.logic.programs.rule_programs import Files, load

if TYPE_CHECKING:
    from pathlib import Path

# Names of vertices.


SPOKEN = ("address_means", "may_mean_vertex")  # relations that map names and addresses to vertices of the graph
SPOKEN_AT_FIRST = ("spoken_at_first", "may_mean")  # like SPOKEN, including vertices that were left out of the graph


@frozen(eq=False)
class Names:
    """The names of vertices. `meant`: {name or address: the vertex that it means}. `texts`: (name, vertex) for all
    possible names."""

    meant: Mapping[str, str]
    texts: Collection[tuple[str, str]]

    @classmethod
    def of(cls, relations: Mapping[str, Collection[Any]], read_from: tuple[str, str] = SPOKEN) -> Names:
        """The names in the relations of rules/graph/names.dl; empty if the relations do not contain names. `read_from`:
        SPOKEN or SPOKEN_AT_FIRST."""
        spoken, may_mean = read_from
        if spoken not in relations:
            return cls({}, ())
        return cls(dict(relations[spoken]), [(text, node) for text, _, node in relations[may_mean]])

    def find(self, text: str) -> str | None:
        """The vertex with a name, or the vertex that represents the named object. (An instance has no vertex of its own
        if one vertex represents its whole resource or module.) None if there is no such vertex."""
        return self.meant.get(text) or self.stand_in(text)

    def stand_in(self, text: str) -> str | None:
        """The vertex that represents an instance without a vertex of its own; None for other names."""
        if text in self.meant or "[" not in text:
            return None
        try:
            address = parse_address(text)
        except AddressError:
            return None
        return self.meant.get(str(address.config))

    def unknown(self, text: str) -> str:
        """The message about an unknown name, with suggestions: a similar name, otherwise the same object in other
        modules, otherwise all modules or all objects of the same type."""
        return f'The graph has no vertex "{text}".{instead(text, self.meant)}'


def substitution_note(text: str, node: str) -> str:
    """The note that the answer is about a vertex that represents the named object."""
    whole = node.removesuffix(" (expand)")
    return f"The answer is about {whole} as a whole, because this graph has no vertices for instances such as {text}."


_SMALL = 5000  # up to this number of facts, evaluating all rules is faster than determining which ones can be omitted


def graph_program(own: Files = ()) -> RuleProgram:
    """The program of graphs (rules/inputs, rules/graph, rules/apply and others), with the user's rules. Raises Failure
    if a file has errors."""
    return _graph_program(own)


@cache
def _graph_program(
    own: Files,
) -> RuleProgram:  # the argument is always passed, so that all calls without rules share one cache entry
    program, diagnostics = load("graph", own)
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    return program


def user_files(folders: tuple[str, ...]) -> Files:
    """(path, text) of each rule file in the user's directories. Raises Failure for a file that cannot be read."""
    items: list[tuple[str, str]] = []
    problems: list[Diagnostic] = []
    for folder in folders:
        for path in _rule_files(folder, problems):
            try:
                items.append((str(path), read_text(path)))
            except (OSError, ValueError) as problem:
                problems.append(error("rules.unreadable", "Cannot read a rule file", f"{path}: {problem}."))
    if problems:
        raise Failure(problems)
    return tuple(items)


def _rule_files(folder: str, problems: list[Diagnostic]) -> list[Path]:
    from pathlib import Path

    if not Path(folder).is_dir():
        problems.append(
            error("rules.no_folder", "The directory of rules does not exist", f"{folder} is not a directory.")
        )
    return sorted(Path(folder).glob("*.dl"))


ASKED = (*SPOKEN, *SPOKEN_AT_FIRST, "waits_for")  # relations that only queries need


@as_step("derive graph")
def build_graph(
    facts: FactBase, everything: bool = False, own: Files = (), more: tuple[str, ...] = (), is_walked: bool = True
) -> Graph:
    """The graph that the rules derive from the facts of one walk, with the additional relations `more`, or with all
    relations (`everything`). `own`: the user's rule files. `is_walked`: whether the graph also contains the relations
    that only walks need. (Some of them, such as recorded dependencies, need much memory.) Raises Failure if the user's
    files have errors, or exceed a limit of time or memory."""
    program = graph_program(own)
    want = None if everything else (*(WANTED if is_walked else READ), *more)
    if own:
        from planner.logic.datalog.tools.suite import try_out

        try_out(program, facts, want, ", ".join(name for name, _ in own))
    if len(facts) > _SMALL:
        return read_graph(program, evaluate(program, facts, want, let_go=True), is_walked)
    return _lately_built(program, facts, want) or _remember(read_graph(program, evaluate(program, facts, want)), want)


def graph_with(program: RuleProgram, facts: FactBase, predicate: str) -> Graph:
    return read_graph(program, evaluate(program, facts, (*WANTED, *SPOKEN, predicate)))


_lately: deque[tuple[tuple[str, ...] | None, Graph]] = deque(maxlen=4)
"""(requested relations, graph) of small graphs that were built recently, because many root modules of a fleet have
equal graphs"""


def _lately_built(program: RuleProgram, facts: FactBase, want: tuple[str, ...] | None) -> Graph | None:
    """A recent graph that was derived from equal facts; None if there is none."""
    for wanted, graph in tuple(_lately):
        if wanted == want and graph.program is program and graph.database.facts.says_the_same(facts):
            return evolve(graph, database=graph.database.of_same_facts(facts))
    return None


def _remember(graph: Graph, want: tuple[str, ...] | None) -> Graph:
    _lately.append((want, graph))
    return graph


# Dependencies to record in the state: `recorded_dependency` of rules/graph/dependencies.dl.


class ResourceDependencies:
    """The resources on which each vertex depends, sorted by address."""

    def __init__(self, database: Database) -> None:
        rows = database.rows("recorded_dependency")
        # these are plain rows if a user's rule reads the relation
        self._behind = rows if isinstance(rows, Behind) else Behind(rows, {(name, name) for _, name in rows})
        self._shared = Addresses(self._behind.names)

    def of(self, node: str) -> AddressSet:
        return AddressSet(self._shared, self._behind.bits(node))


# Converts derived relations to a Graph. All decisions are made by rules.


_NAME = itemgetter(0)

READ = ("vertex", "edge", "reduced_edge", "instance", "instance_node", "deposed_node", "local_name")
"""the relations of the vertices and edges"""
WANTED = (
    *READ,
    "in_cycle",
    "asks_provider",
    "needs_configured_provider",
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
    "needs_no_configuration",
    "uses_configuration",
    "new_deposed",
    "given_up",
    "calls_nothing",
    "function_configuration",
    "function_awaited",
    "calls_named",
)
"""the relations that a walk needs"""


def read_graph(program: RuleProgram, database: Database, is_walked: bool = True) -> Graph:
    """The graph in a database, with sorted vertices and, if `is_walked`, sorted reduced edges. Otherwise, the reduced
    edges are only in the relation of the database."""
    nodes = read_nodes(database)
    reduced = adjacency(nodes, database["reduced_edge"]) if is_walked else {}
    return Graph(nodes, database["edge"], reduced, database=database, program=program)


def read_nodes(database: Database) -> dict[str, Node]:
    """{name: vertex}, sorted by name."""
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


# Reasons why a graph cannot be walked.


def graph_problems(graph: Graph, is_edited: Callable[[dict[str, Any]], bool] | None = None) -> list[Diagnostic]:
    """Errors for all reasons why a graph cannot be walked: first the cycles, then other kinds of errors, each kind in
    sorted order. `is_edited`: returns whether the line of a source differs from the last commit."""
    others = [*missing_providers(graph), *missing_functions(graph), *unknown_orders(graph)]
    return [*_cycles(graph, is_edited), *others] if graph.database["in_cycle"] else others


def _cycles(graph: Graph, is_edited: Callable[[dict[str, Any]], bool] | None) -> list[Diagnostic]:
    from planner.logic.graph.cycles import cycle_problems

    return cycle_problems(graph, is_edited)


# ---------------------------------------------------------------- providers


def missing_providers(graph: Graph) -> list[Diagnostic]:
    problems = []
    for node, configuration in sorted(graph.database["provider_missing"]):
        detail = (
            f"{node} is managed through the provider configuration {configuration}, which no longer exists. Restore "
            "the provider block, apply, and remove the block afterwards; or forget the object with a removed block."
        )
        problems.append(error("graph.provider_missing", "Provider configuration not present", detail, address=node))
    for object, provider, alias in sorted(graph.database["provider_unresolved"]):
        named = f' with alias = "{alias}"' if alias else ""
        detail = (
            f"{object} requires a configuration of provider {provider}{named}, but neither its module nor any calling "
            f"module has one. Add a provider block{named}, or change the argument provider."
        )
        problems.append(
            error("graph.provider_unresolved", "Provider configuration not present", detail, address=object)
        )
    return problems


_LACKS = {
    "form": (
        "Unable to parse provider function",
        "{name} is not a function of a provider: those are called as provider::NAME::FUNCTION, or with an alias as "
        "provider::NAME::ALIAS::FUNCTION.",
    ),
    "provider": (
        "Unknown function provider",
        "{name} cannot be called: the module has no provider of that name in required_providers.",
    ),
    "self": (
        "Self reference",
        "{object} calls {name}, a function of the provider that it configures. The provider's arguments must be known "
        "before the call.",
    ),
    "function": ("Function not found in provider", "The provider {provider} has no function {function}.{hint}"),
}


def missing_functions(graph: Graph) -> list[Diagnostic]:
    lacks = graph.database["calls_nothing"]
    return [problem for object, name, lack in sorted(lacks) for problem in _missing(graph, object, name, lack)]


def missing_function(graph: Graph, object: str, name: str) -> list[Diagnostic]:
    """Errors for the calls in `object` of the function `name`, which the configured provider does not have."""
    return _missing(graph, object, name, "function")


def _missing(graph: Graph, object: str, name: str, lack: str) -> list[Diagnostic]:
    assert graph.database is not None
    facts = graph.database.facts
    problems = []
    for row in facts.sorted("calls_named"):
        if row[:2] != (object, name):
            continue
        provider, function = row[2], row[4]
        known = sorted(of for by, of in facts.relation("provider_function") if by == provider)
        hint = did_you_mean(function, known) if lack == "function" else ""
        title, detail = _LACKS[lack]
        detail = detail.format(object=object, name=name, provider=provider, function=function, hint=hint)
        where = facts.source("calls_named", row)
        span = where if isinstance(where, Span) else None
        problems.append(error(f"graph.no_{lack}_called", title, detail, span, address=object))
    return problems


def unknown_orders(graph: Graph) -> list[Diagnostic]:
    """Errors for addresses in users' facts and rules of `order_before` that the configuration does not declare."""
    rows = sorted(graph.database["order_unknown"])
    return _unknown_orders(graph, [address for (address,) in rows]) if rows else []


def _unknown_orders(graph: Graph, addresses: list[str]) -> list[Diagnostic]:
    from planner.logic.datalog.explain.search import Prover

    prover = Prover(graph.program, graph.database)
    problems = []
    for address in addresses:
        known = sorted({row[0] for row in graph.database.facts.relation("resource")})
        hint = did_you_mean(address, known)
        detail = (
            f"order_before needs whole resources or module calls of the configuration, but {address} is neither.{hint}"
        )
        ordered = (row for row in sorted(graph.database["order_before"]) if address in row)
        proof = prover.why("order_before", next(ordered))
        span = proof.rule.span if proof is not None and proof.rule is not None else None
        problems.append(
            error("graph.order_unknown", "A rule orders objects that do not exist", detail, span, address=address)
        )
    return problems
