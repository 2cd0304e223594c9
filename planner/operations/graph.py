"""Builds the graph of an operation for drawing, queries and proofs, as `planner graph` shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from planner.engine.evaluation.schemas import Schemas
from planner.engine.plan.moves import apply_moves
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.address import parse_address, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, has_errors, warning
from planner.foundation.vocabulary.limits import walk_of
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.graph.build import ASKED, build_graph, graph_problems
from planner.logic.graph.cycles import Knot, knots
from planner.logic.graph.edge_sources import MAX_EDGES
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, change_name
from planner.logic.programs.actions import does
from planner.operations import graphs
from planner.operations.explanations import Chains, causes, changed_actions, plan_graph
from planner.operations.load import load_values
from planner.operations.moves import MovedObject, moves
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Start, refreshed_to_destroy
from planner.operations.plan_files import Unstored, open_or_make_plan
from planner.operations.policies import data_held, judged
from planner.operations.state_access import load_stored
from planner.world.git.revisions import Head, head_of
from planner.world.state.model import State

if TYPE_CHECKING:
    from planner.answers.explain.renames import ProposedMove
    from planner.answers.policy.model import Verdict
    from planner.logic.graph.decision_chains import ChainStep


def graph(
    options: OperationOptions,
    kind: str = "plan",
    plan_file: str | None = None,
    as_planned: bool = False,
    queried_address: str | None = None,
) -> Graph:
    """The graph of an operation. `kind`: plan, plan-refresh-only, plan-destroy or apply. `as_planned`: whether to
    return the graph that a plan walks: it is built after moves, and with import blocks. If false, the graph for drawing
    is returned, which is built without moves and import blocks, and whose database has only the relations that walks
    need. `queried_address`: the vertex whose dependents are needed. Problems are in the diagnostics of the graph."""
    if plan_file is not None or options.made is not None or (as_planned and kind == "apply"):
        return _of_plan(options, kind, plan_file, as_planned, queried_address)
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        start = load_stored(options, diagnostics)
        walk = walk_of("apply" if kind == "apply" else "plan", "destroy" if kind == "plan-destroy" else options.mode)
        state = start.state
        if as_planned:
            state = apply_moves(start.config, state).state
            if walk == "plan-destroy" and options.refresh and not state.is_empty:
                refreshed = _refreshed(start)
                if refreshed is None:
                    walk = "plan"  # a destroy plan begins with an ordinary plan, and ends if the ordinary plan fails
                else:
                    state = refreshed
        facts = graphs.graph_facts(walk, start, state, options.limits, (), queried_address, imports=as_planned)
        built = build_graph(facts, own=start.rules, more=ASKED if as_planned else ())
        return evolve(
            built, diagnostics=(*diagnostics, *graph_problems(built, graphs.edited_since_commit(options.directory)))
        )
    return _none(diagnostics)


def _of_plan(
    options: OperationOptions, kind: str, plan_file: str | None, as_planned: bool, queried_address: str | None
) -> Graph:
    answer = open_or_make_plan(options, plan_file)
    made = answer.complete
    if made is None:
        return _none(answer.diagnostics)
    if kind == "apply":
        facts = graphs.apply_facts(made.plan, made.loaded, queried_address)
    elif as_planned and kind == "plan":
        facts = graphs.planning_facts(made.plan, made.loaded, queried_address)
    else:  # all other graphs have the whole configuration and the plan's state
        walk = walk_of("plan", "destroy" if kind == "plan-destroy" else "normal")
        state = made.plan.prior_state
        facts = graphs.graph_facts(walk, made.loaded, state, options.limits, (), queried_address, imports=as_planned)
    built = build_graph(facts, own=made.loaded.rules, more=ASKED)
    return evolve(built, diagnostics=tuple(graph_problems(built, graphs.edited_since_commit(options.directory))))


def with_vertices(graph: Graph) -> Graph:
    """Returns the graph. Raises Failure if the graph could not be built."""
    if not graph.nodes:
        raise Failure(graph.diagnostics)
    return graph


def _none(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> Graph:
    return Graph({}, (), {}, tuple(diagnostics))


def _refreshed(start: Start) -> State | None:
    """The prior state of a destroy plan; None if the ordinary plan, which refreshes the state before it, has errors."""
    variables, _ = load_values(start)
    refreshed = refreshed_to_destroy(start, variables)
    return None if refreshed is None else apply_moves(start.config, refreshed).state


# `cut`: references whose removal breaks the cycles of a graph


def cut(
    options: OperationOptions, kind: str = "", plan_file: str | None = None
) -> tuple[list[Knot] | None, list[Diagnostic]]:
    """The cycles of a graph, each with the references that can be removed to break it; None if the graph cannot be
    built. `kind`: the kind of graph. "" means the plan graph or, if this has no cycles, the apply graph. Raises
    Failure."""
    if plan_file is not None or kind in ("plan", "plan-destroy", ""):
        built = graph(options, kind or ("apply" if plan_file else "plan"), plan_file, as_planned=True)
        if not built.nodes:
            return None, list(built.diagnostics)
        tied = knots(built, graphs.edited_since_commit(options.directory))
        if tied or plan_file is not None or kind:
            return tied, []
    answer = open_or_make_plan(options)
    made = answer.made
    if made is None:
        return None, list(answer.diagnostics)
    built = build_graph(graphs.apply_facts(made.plan, made.loaded), own=made.loaded.rules)
    return knots(built, graphs.edited_since_commit(options.directory)), []


# `explore`: a plan with its graphs and the sources of their edges, for a page


@frozen(eq=False)
class Explored:
    """The data for a page about a plan: the plan, its graphs, and the causes of its changes. `kinds`: the graphs to
    show (plan, apply). The apply graph is omitted if the plan cannot be applied, unless it is the only one."""

    plan: Plan
    kinds: tuple[str, ...]
    graph: Callable[[str], Graph]
    """builds and returns the graph of a kind; if the graph has more than MAX_EDGES edges, only edges of the reduced
    graph have sources"""
    causes: Chains
    schemas: Schemas
    actions: dict[str, str]
    """{name of a change: action}"""
    workspace: str
    directory: str
    head: Head | None
    """the branch and the commit of the directory; None outside of repositories"""
    verdict: Verdict | None
    """the verdict of the policies about the plan; None if there are no policies"""
    created_first: Mapping[str, str]
    """{change: the reason why the new object is created first}, for replacements of objects that do not themselves set
    create_before_destroy"""
    renamed: tuple[tuple[str, str], ...] = ()
    """(old, new) of the objects that look renamed; see planner.answers.explain.renames.same_objects"""
    moves_meant: tuple[ProposedMove, ...] = ()
    """the proposed moves of the objects in `renamed`, without moves that are part of a larger move"""
    perhaps_renamed: tuple[tuple[str, str], ...] = ()
    """(old, new) of objects that look possibly renamed within a module: the objects of all other proposed moves"""
    moved: tuple[MovedObject, ...] = ()
    """the objects whose addresses the plan changes"""
    data_held: Mapping[str, tuple[str, str]] = field(factory=dict)
    """whether destroying an object loses data; see planner.operations.policies.data_held"""


def explore(
    options: OperationOptions, plan_file: str | None, kinds: tuple[str, ...], hooks: Hooks
) -> tuple[Explored | None, list[Diagnostic]]:
    """The data for a page about the plan in a file, or about a new plan; None if no plan can be made. `kinds`: the
    graphs to include (plan, apply). The plan is checked against the policies in the options and the policies that the
    plan file contains."""
    from planner.answers.explain.renames import largest_moves, proposed_moves, same_objects

    # compiled expressions need more memory than a graph; the few expressions that causes need are compiled again
    keeping = evolve(options, shown_edges=MAX_EDGES if "plan" in kinds else 0, evaluates_once=True)
    answer = open_or_make_plan(keeping, plan_file, hooks)
    made = answer.complete
    if made is None:
        return None, list(answer.diagnostics)
    problems = list(answer.diagnostics)
    verdict = None
    if options.judges or made.plan.policy is not None:
        made, verdict, more = judged(made)  # a denied plan can still be viewed
        problems += more
        if has_errors(more):
            return None, problems
    shown = tuple(kind for kind in kinds if kind != "apply" or made.plan.can_apply) or kinds
    chains = causes(made, has_others=True)
    problems += [warning("why.former_values", "Former values are missing", note) for note in chains.notes]
    created_first = _created_first(made)
    renamed, proposed = same_objects(made.plan), proposed_moves(made.plan, made.loaded.config)
    same = set(renamed)
    moved, held = tuple(moves(made)), data_held(made)
    is_last = options.made is None  # no other question follows, and the graphs need the memory
    if is_last and made.context is not None:
        made.context.take_apart()
    explored = Explored(
        made.plan,
        shown,
        partial(_graph, made, is_last),
        chains,
        made.loaded.schemas,
        changed_actions(made),
        made.loaded.workspace,
        options.directory,
        head_of(options.directory),
        verdict,
        created_first,
        renamed,
        largest_moves(move for move in proposed if not same.isdisjoint(move.carried)),
        tuple(sorted(_perhaps_renamed(move for move in proposed if same.isdisjoint(move.carried)))),
        moved,
        held,
    )
    return explored, problems


def _perhaps_renamed(moves: Iterable[ProposedMove]) -> set[tuple[str, str]]:
    pairs = {pair for move in moves for pair in move.carried}
    return {pair for pair in pairs if len({parse_resource_instance(name).module for name in pair}) == 1}


def _created_first(made: MadePlan[Unstored]) -> dict[str, str]:
    """{name of a change: the reason why the new object is created first}, for replacements of objects that do not
    themselves set create_before_destroy."""
    from planner.logic.graph.decision_chains import FORCED, replacement_chain

    replaced = {
        change_name(one): str(parse_address(one.address).config)
        for one in made.plan.changes
        if does(one.action, "sets_aside")
    }
    if not replaced:
        return {}
    graph = made.loaded.derived.plan_graph or plan_graph(made)
    forced = {row[0] for row in graph.database[FORCED]}
    nodes = {object: node for node, _, _, object in graph.database["node_base"] if node in forced}
    chains = {object: replacement_chain(graph, nodes[object]) for object in nodes.keys() & {*replaced.values()}}
    return {name: _step_text(chains[object][0]) for name, object in replaced.items() if chains.get(object)}


def _step_text(step: ChainStep) -> str:
    """The text of a step of a chain, followed by its place in parentheses."""
    place = next((f" ({source['file']}:{source['line']})" for source in step.sources if "file" in source), "")
    return step.text.replace(" (expand)", "") + place


def _graph(made: MadePlan[Unstored], is_last: bool, kind: str) -> Graph:
    """The graph of the plan of this kind. The graph that was built while planning is reused if it has the same
    facts."""
    loaded, derived = made.loaded, made.loaded.derived
    known = derived.plan_graph
    if is_last:
        derived.plan_graph = None
    facts_of = graphs.planning_facts if kind == "plan" else graphs.apply_facts
    facts = graphs.shown_facts(facts_of(made.plan, loaded), MAX_EDGES)
    if kind == "plan" and known is not None and known.database.facts.says_the_same(facts):
        return known
    del known
    return build_graph(facts, own=loaded.rules, more=graphs.relations_to_show(facts, loaded), is_walked=False)
