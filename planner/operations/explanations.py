"""Questions about a plan: why an action is planned, or why a value is unknown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.engine.plan.moves import query_facts, undo_moves
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_address, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.rule_syntax import Atom, Constant, quote
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.graph.build import ASKED, SPOKEN_AT_FIRST, Names, build_graph, graph_with
from planner.logic.model.graph import CommandLine, Graph, source_json
from planner.logic.model.plan import Plan, change_name, deferral_cause
from planner.logic.programs.actions import UNKNOWN, does, verb_of
from planner.logic.programs.rule_programs import product_program
from planner.operations import graphs
from planner.operations.moves import moves
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, Planned, plan_words
from planner.operations.plan_files import Unstored, open_or_make_plan, open_plan
from planner.operations.state_access import load_stored

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because, CauseStep
    from planner.answers.explain.former_world import FormerWorldsOf
    from planner.answers.explain.why import Explainer
    from planner.world.state.taint_record import TaintOrigin

FORCED = "forced"
"""the word of `why` for objects that are create-before-destroy because of other objects"""

DEFERRED = "deferred"
"""the word of `why` for objects that are deferred to a later plan"""
DEFERRED_BLOCK, DEFERRED_DEPENDENT = "deferred_block", "deferred_dependent"

GRAPH_WORDS = {
    "targeted": "selected",
    "excluded": "excluded",
    DEFERRED: "deferred_vertex",
    FORCED: "forced_create_before_destroy",
}
"""{word of `why`: predicate about a vertex}. The meanings of the predicates, in their order: -target and -exclude
select the vertex; -exclude leaves it out; it is deferred to a later plan; it is create-before-destroy because of a
dependent"""


DRIFT = "drift"
"""the word of `why` for changes made outside planner"""

INSTANCE_WORDS = {"targeted": "selected_instance", "excluded": "left_out_instance"}
"""{word of `why`: predicate about a single instance}, for resources of which one vertex represents all instances"""

MOVED = "moved"
"""the word of `why` for objects whose addresses changed"""

INVOKE = "invoke"
"""the word of `why` for invocations of an action, or for actions that an object invokes"""

DEPENDENCY = "recorded_dependency"
"""the relation with the dependencies that a state records; it is computed by an operator instead of rules, so its rows
have no proofs"""


def vertex_fact(graph: Graph, word: str, what: str) -> str:
    """The fact, in the rule language, that a word of `why` states about a vertex or an instance. Raises Failure for an
    unknown vertex."""
    from planner.logic.graph.why import find_node

    if word in INSTANCE_WORDS and is_single_instance(graph, what):
        return f"{INSTANCE_WORDS[word]}({quote(what)})"
    return f"{GRAPH_WORDS[word]}({quote(find_node(graph, what, pruned=True))})"


def is_single_instance(graph: Graph, what: str) -> bool:
    """Whether an instance at this address has no vertex of its own, because one vertex represents all instances of its
    resource."""
    meant = Names.of(graph.database, SPOKEN_AT_FIRST).meant
    if what in meant:
        return False
    try:
        address = parse_address(what)
    except AddressError:
        return False
    return not isinstance(address, ModuleAddress) and str(address.config) in meant


def facts_with_instances(facts: FactBase, made: MadePlan[Unstored]) -> FactBase:
    """The facts, with added facts about resource instances. The instances are known only after a plan has been made."""
    from planner.answers.explain.instances import with_instances

    return with_instances(facts, explainer_of(made).places.context, made.plan.prior_state)


def with_dependency(graph: Graph, text: str) -> tuple[Graph, str]:
    """Prepare a Datalog query about the relation `recorded_dependency` for a proof. Returns a graph with a relation
    that contains the same dependencies and has proofs, and the query with the name of that relation."""
    from planner.logic.graph.why import read_query

    facts = FactBuilder(graph.database.facts)
    for atom in read_query(graph.program, text)[0].literals:
        if isinstance(atom, Atom) and isinstance(atom.arguments[-1], Constant):
            resource = atom.arguments[-1].value
            facts.add("queried_resource", resource, source=CommandLine(str(resource)))
    return graph_with(graph.program, facts.build(), "depends_on_queried"), text.replace(
        DEPENDENCY, "depends_on_queried", 1
    )


def deferral_ground(options: OperationOptions, plan_file: str | None = None) -> tuple[Graph | None, list[Diagnostic]]:
    """The graph of a plan with -allow-deferral, which may defer objects to a later plan; None if no plan can be
    made."""
    answer = open_or_make_plan(evolve(options, allow_deferral=True), plan_file)
    if answer.made is None:
        return None, list(answer.diagnostics)
    facts = graphs.planning_facts(answer.made.plan, answer.made.loaded)
    more = (*ASKED, GRAPH_WORDS[DEFERRED], DEFERRED_BLOCK, DEFERRED_DEPENDENT)
    return build_graph(facts, own=answer.made.loaded.rules, more=more), list(answer.diagnostics)


def moves_ground(options: OperationOptions, plan_file: str | None = None) -> tuple[Graph | None, list[Diagnostic]]:
    """A graph without vertices, whose database contains the derivations of the rules about moves. None if the state
    cannot be read."""
    diagnostics = Diagnostics()
    loaded, state = None, None
    with diagnostics.until_an_error():
        if plan_file is not None:
            made = open_plan(options, plan_file, diagnostics)
            loaded = made.loaded
            if made.plan.previous_state is not None:
                origins = {c.address: c.previous_address for c in made.plan.changes if not c.deposed}
                state = undo_moves(made.plan.previous_state, origins)
        else:
            stored = load_stored(options, diagnostics)
            loaded, state = stored, stored.state
    if loaded is None or state is None:
        return None, diagnostics
    program, facts = product_program("moving"), query_facts(loaded.config, state, loaded.options.limits)
    return Graph({}, (), {}, database=evaluate(program, facts), program=program), diagnostics


def relevance_ground(options: OperationOptions, plan_file: str | None = None) -> tuple[Graph | None, list[Diagnostic]]:
    """A graph without vertices, whose database contains the derivations of the rules about values that contribute to a
    plan. None if no plan can be made."""
    from planner.engine.plan.findings import block_lookup, changed_outputs
    from planner.logic.facts.relevance import RelevanceFacts
    from planner.logic.facts.unknowns import UnknownFacts

    answer = open_or_make_plan(options, plan_file)
    if answer.made is None:
        return None, list(answer.diagnostics)
    plan, loaded = answer.made.plan, answer.made.loaded
    outputs = changed_outputs(plan.outputs, explainer_of(answer.made).places.context)
    relevance = RelevanceFacts(loaded.config, block_lookup(loaded.schemas), plan.changes, outputs, with_sources=True)
    facts = FactBuilder(relevance.build())
    unknowns = UnknownFacts(facts, loaded.config, plan.changes)
    for change in plan.changes:
        if not change.deposed:
            unknowns.add(change)
    program = product_program("relevance")
    database = evaluate(program, facts.build())
    return Graph({}, (), {}, database=database, program=program), list(answer.diagnostics)


def decision_ground(
    options: OperationOptions, what: str, plan_file: str | None = None
) -> tuple[Graph | None, str, list[Diagnostic]]:
    """(graph, action, diagnostics). The graph has no vertices, and its database contains the derivations of the
    decision about an address; None if no plan can be made. The action is that of the change made to the object outside
    planner; "" if there is none. Raises Failure."""
    answers, problems = explainer(options, plan_file)
    if answers is None:
        return None, "", problems
    program, drifted = product_program("causes"), {change.address: change.action for change in answers.plan.drift}
    database = evaluate(program, answers.about(what))
    return Graph({}, (), {}, database=database, program=program), drifted.get(what, ""), problems


def explainer(options: OperationOptions, plan_file: str | None = None) -> tuple[Explainer | None, list[Diagnostic]]:
    """An Explainer for the plan in a file, or for a new plan, which is made without locking the state; None if no plan
    can be made."""
    answer = open_or_make_plan(options, plan_file)
    return (explainer_of(answer.made) if answer.made is not None else None), list(answer.diagnostics)


def explainer_of(made: MadePlan[Unstored]) -> Explainer:
    from planner.answers.explain.why import Explainer
    from planner.engine.evaluation.eval_walk import planned_values, with_outputs
    from planner.operations.former_world import FormerWorlds

    plan, loaded = made.plan, made.loaded
    context = made.context
    if context is None or context.is_apart or plan.errored:
        graph = graphs.build("eval", loaded, plan.prior_state)
        context = planned_values(graph, loaded.config, plan, made.variables, loaded.schemas, loaded.workspace)
    else:
        with_outputs(context, plan)
    return Explainer(plan, loaded.config, context, made.variables, FormerWorlds(made), _taints(made), _locked(made))


def _locked(made: MadePlan[Unstored]) -> dict[str, tuple[str, Span]]:
    """{provider: (version in the lock file, place of the entry)}."""
    from planner.operations.input_record import locked_versions

    directory = made.loaded.options.directory
    versions = locked_versions(directory)
    if not versions:
        return {}
    from planner.world.provider.lock_file import NAME

    source = Source(NAME, read_text(os.path.join(directory, NAME)))
    places: dict[str, tuple[str, Span]] = {}
    for address, version in versions.items():
        at = max(source.text.find(f'provider "{address}"'), 0)
        start = max(source.text.find(f'"{version}"', at), at)
        places[address] = version, Span(source, start, start + len(version) + 2)
    return places


def _taints(made: MadePlan[Unstored]) -> Mapping[str, TaintOrigin]:
    """{current address: origin of the taint} of the objects that a plan replaces because they are tainted."""
    from planner.operations.former_world import store_of
    from planner.operations.input_record import taints_of

    former = {c.address: c.previous_address for c in made.plan.changes if ("tainted", c.address) in c.facts}
    store = store_of(made) if former else None
    known = taints_of(store, made.plan.previous_state) if store is not None else {}
    return {address: known[was] for address, was in former.items() if was in known}


def why_planned(
    options: OperationOptions, verb: str, what: str, plan_file: str | None = None, negated: bool = False
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proof of an action (`verb`: the word for the action, or "" for any action) or of an unknown value. If
    `negated`, the reason why there is no such action or unknown value. None if no plan can be made. Raises Failure."""
    return why_in_plan(open_or_make_plan(options, plan_file), verb, what, negated)


def why_in_plan(
    answer: Planned[Unstored], verb: str, what: str, negated: bool = False
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The explanation of an action or unknown value in a plan; None if the plan could not be made. If the plan was made
    with options, `options` in the document contains them as command-line arguments. Raises Failure."""
    if answer.made is None:
        return None, list(answer.diagnostics)
    proof, problems = _why_in(answer.made, answer, verb, what, negated)
    words = plan_words(answer.made)
    return ({**proof, "options": words} if proof is not None and words else proof), problems


def _why_in(
    made: MadePlan[Unstored], answer: Planned[Unstored], verb: str, what: str, negated: bool
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    problems = list(answer.diagnostics)
    result = explainer_of(made)
    failed = problems if has_errors(problems) else []
    try:
        names = result.instances(what) if verb != UNKNOWN and not negated else []
        if names:
            return _why_instances(made, result, verb, names), [_as_warning(d) for d in failed]
        if verb == UNKNOWN:
            proof = result.not_unknown(what) if negated else result.unknown(what)
        else:
            proof = result.not_action(what, verb) if negated else with_chains(made, result.action(what, verb))
    except Failure as failure:  # planning failed, perhaps before the object was planned
        raise Failure([*failed, *_with_limits(made, what, failure.diagnostics)]) from None
    return proof, [_as_warning(d) for d in failed]


MOST_ANSWERS = 4
"""maximum number of groups of instances for which a proof is returned"""


def _why_instances(made: MadePlan[Unstored], result: Explainer, verb: str, names: list[str]) -> dict[str, Any]:
    """The proofs of a resource's instances, as one document. Instances with equal actions and causes form a group, and
    each group has one proof, which lists the instances in `instances`. The document is the proof of the first group,
    and `also` contains the other groups. After MOST_ANSWERS groups, the remaining groups have only `instances`. Raises
    Failure."""
    causes = result.causes()
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name in names:
        (change,) = result.find(name).changes
        because = causes.get(name)
        roots = [(root.what, root.kind) for root in because.roots] if because is not None else []
        same = tuple(sorted(("", kind) if what == name else (what, kind) for what, kind in roots))
        groups.setdefault((change.action, getattr(change, "reason", ""), same), []).append(name)
    wanted = [group for (action, *_), group in groups.items() if not verb or verb_of(action) == verb]
    proofs = [
        {**with_chains(made, result.action(group[0], verb)), "instances": group}
        for group in (wanted or list(groups.values()))[:MOST_ANSWERS]
    ]
    rest = [{"instances": group} for group in wanted[MOST_ANSWERS:]]
    first, *others = proofs
    return {**first, "also": [*others, *rest]} if others or rest else first


def _place_besides(proof: dict[str, Any], span: Any) -> str:
    """The place of a span in parentheses, such as ` (main.tf:38)`; "" if the first step of the causes in `proof`
    already shows this place."""
    place = source_json(span) if span is not None else {}
    shown = [step.get("source", {}) for step in proof.get("because", ())[:1]]
    is_shown = [place.get(name) for name in ("file", "line")] in [[s.get("file"), s.get("line")] for s in shown]
    return "" if is_shown or "file" not in place else f" ({place['file']}:{place['line']})"


def with_chains(made: MadePlan[Unstored], proof: dict[str, Any]) -> dict[str, Any]:
    """The proof of an action, with added chains of further reasons. These may be a moved block, -target, the reason why
    the new object is created first, the objects for which a data source waits, and a rename that a moved block could
    declare."""
    from planner.answers.explain.renames import declared_at, sure_moves
    from planner.logic.graph.decision_chains import ChainStep, replacement_chain, target_chain, waiting_chain
    from planner.logic.graph.why import vertices_meant

    _, name, action = proof["goal"]
    rows = [step["tuple"] for step in proof["proofs"].values()]
    waits = sorted({row[2] for row in rows if row[0] in ("dependency_pending", "change_before") and row[1] == name})
    changes = made.plan.changes if made.plan.limits.targets else ()
    objects = [change.address for change in changes if change_name(change) == name]
    along = made.plan.limits.bringing(parse_resource_instance(objects[0])) if objects else ()
    chains = [
        (f"{name} was {move.former}", [ChainStep("a moved block names it", (source_json(move.source),))])
        for move in moves(made)
        if move.address == name and move.source is not None
    ]
    graph = plan_graph(made) if does(action, "sets_aside") or waits or along else None
    if graph is not None and along:
        (node,), _ = vertices_meant(graph, objects)
        targets = ", ".join(f"-target={address}" for address in along)
        chains.append(
            (f"{objects[0]} is included by {targets}", target_chain(graph, node, made.plan.mode == "destroy"))
        )
    if graph is not None and does(action, "sets_aside"):
        (node,), _ = vertices_meant(graph, [name])
        chains.append(
            (f"The replacement of {name} is created before the old object is destroyed", replacement_chain(graph, node))
        )
    for resource in waits:
        assert graph is not None
        object = str(parse_address(name).config)
        chains.append((f"{name} is read only after {resource}", waiting_chain(graph, object, resource)))
    chains += [
        (
            f"{move.from_} looks renamed to {move.to}{_place_besides(proof, declared_at(move, made.loaded.config))}",
            [ChainStep("planner suggest shows what a moved block would keep")],
        )
        for move in (sure_moves(made.plan, made.loaded.config) if does(action, "ends") or action == "create" else ())
        if any(name in pair for pair in move.carried)
    ]
    written = [{"text": text, "steps": [step.json for step in steps]} for text, steps in chains if steps]
    return {**proof, "chains": [*proof.get("chains", ()), *written]} if written else proof


def plan_graph(made: MadePlan[Unstored]) -> Graph:
    """The plan graph, for queries."""
    return build_graph(graphs.planning_facts(made.plan, made.loaded), own=made.loaded.rules, more=ASKED)


def _with_limits(made: MadePlan[Unstored], what: str, problems: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics. If one of them states that the object `what` has no change, and -target, -exclude or a deferral
    is the reason, this reason is added to it."""
    from planner.logic.graph.nearest_miss import left_out
    from planner.logic.graph.why import vertices_meant

    limits = made.plan.limits
    if not limits.is_partial or not any(p.code == "why.no_change" for p in problems):
        return problems
    graph = plan_graph(made)
    try:
        (node,), _ = vertices_meant(graph, [what])
    except Failure:
        return problems
    reason = left_out(graph, node)
    if not limits.including(block for block, _, _ in made.plan.deferred).is_partial:
        return [_with_deferred(made.plan, what, p) for p in problems] if reason else problems
    options = [f"-{option}={address}" for option, address in limits.options() if option != "replace"]
    text = (
        reason or f"{node} is included, but {what} is left out ({', '.join(options)}): planner why -not targeted {what}"
    )
    return [evolve(p, detail=f"{p.detail}\n{text}") if p.code == "why.no_change" else p for p in problems]


def _with_deferred(plan: Plan, what: str, problem: Diagnostic) -> Diagnostic:
    """The diagnostic. If it states that the object `what` has no change, its detail is replaced: it then names the
    deferred block that declares the object. If no deferred block declares it, the detail names all deferred blocks,
    because their dependents are deferred, too."""
    if problem.code != "why.no_change":
        return problem
    meant = [row for row in plan.deferred if what == row[0] or what.startswith((f"{row[0]}.", f"{row[0]}["))]
    rows = meant or plan.deferred
    left = [
        f"{block}: {cause}"
        if (cause := deferral_cause(argument))
        else f"the {argument} of {block} at {place} is not known yet"
        for block, argument, place in rows
    ]
    too = "" if meant else ". Everything that depends on these blocks is left, too"
    return evolve(problem, detail=f"{what} is left for a later plan: {'; '.join(left)}{too}.")


def _as_warning(problem: Diagnostic) -> Diagnostic:
    """A planning error as a warning, because the changes planned so far can still be explained."""
    return evolve(problem, severity="warning") if problem.is_error else problem


# The causes of a plan's changes


class Chains(dict[str, "Because"]):
    """{name of a change: its causes}, for objects and outputs. `notes`: remarks about missing former values.
    `idle_edits`: known edits that are not a cause of any change. `worlds`: the former configurations and inputs
    (planner.operations.former_world); None if the plan is not compared with former configurations and inputs."""

    notes: tuple[str, ...] = ()
    idle_edits: tuple[CauseStep, ...] = ()
    worlds: FormerWorldsOf | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and a remark about idle edits."""
        return (*self.notes, *([_idle_note(self.idle_edits)] if self.idle_edits else []))


def causes(made: MadePlan[Any], has_others: bool = False) -> Chains:
    """The causes of all changes of a plan. `has_others`: whether to include, for each change, the chains of all its
    causes and not only the first chain."""
    explainer = explainer_of(made)
    chains = Chains(explainer.causes(has_others))
    worlds = explainer.worlds
    if worlds is not None and (worlds.origin or any(because.is_guess for because in chains.values())):
        chains.notes = tuple(worlds.notes)
    if made.plan.mode == "normal" and not made.loaded.options.limits.is_partial and explainer.idle_edits:
        chains.idle_edits = explainer.idle_edits
    chains.worlds = worlds
    return chains


_MOST_IDLE = 8
"""maximum number of edits that a remark names"""


def _idle_note(edits: Sequence[CauseStep]) -> str:
    places = ((edit.what.removeprefix("the text of "), edit.source) for edit in edits[:_MOST_IDLE])
    named = [
        f"{name} ({place.filename}:{place.start_position.line})" if isinstance(place, Span) else name
        for name, place in places
    ]
    more = [f"{len(edits) - _MOST_IDLE} more"] if len(edits) > _MOST_IDLE else []
    return f"Edits that are not a cause of any change: {', '.join([*named, *more])}."


def changed_actions(made: MadePlan[Any]) -> dict[str, str]:
    """{name of a change: action} of the changes of objects and outputs whose action is not no-op."""
    plan = made.plan
    actions: dict[str, str] = {change_name(c): c.action for c in plan.changes if c.action != "no-op"}
    return actions | {f"output.{o.name}": o.action for o in plan.outputs if o.action != "no-op"}
