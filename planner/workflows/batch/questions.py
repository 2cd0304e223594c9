"""Answers questions about a fleet: its graph, why one unit waits for another, and queries and policies about the plans
of all units."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from planner.answers.policy.combined_plans import verdict_of
from planner.answers.policy.facts.units import contents_needed
from planner.answers.policy.model import Verdict
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.datalog.ask.limit import run_limited
from planner.logic.datalog.ask.question import ask, parse_query
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.native import reduction
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.deriving_rules import Maker, makers
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.language.values import decode
from planner.logic.facts.managed import KnownObject
from planner.logic.graph.query_answers import Answers
from planner.logic.programs.rule_programs import batch_program
from planner.render.dot import quote
from planner.workflows.batch.analyse import Analysis
from planner.workflows.batch.earlier_runs import state_request
from planner.workflows.batch.facts import fleet_source
from planner.workflows.batch.fleet_policies import load_policies, with_contents
from planner.workflows.batch.model import IDENTITIES, FileLocation, Fleet, UnitResult
from planner.workflows.batch.plan import plan
from planner.workflows.batch.run import BatchReport
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import Batch, BatchOptions, own_rules
from planner.world.state.workspace import current_workspace

OUTCOMES = ("earlier", "result", "changed_output", "unknown_output", "waits_for_output", "status")
"""relations about the outcomes of plans"""


def analysed(options: BatchOptions, want: tuple[str, ...] = ()) -> Analysis:
    """The analysis of a fleet for a question. Its diagnostics include the problems of the fleet's files. Raises
    Failure."""
    batch = Batch(options, "plan")
    analysis = batch.analysis(want)
    batch.cache.save()
    problems = [*batch.fleet.diagnostics, *analysis.diagnostics]
    if any(unit.recipe is not None for unit in batch.fleet.units.values()):
        problems += refusals(batch.fleet)
    return evolve(analysis, diagnostics=tuple(problems))


def refusals(fleet: Fleet) -> list[Diagnostic]:
    """A warning for each reason why a unit cannot run, for commands that only read the fleet."""
    diagnostics = []
    for unit in fleet.units.values():
        for said in unit.recipe.refusals if unit.recipe is not None else ():
            place = said.get("range") or {}
            at = f" ({place.get('filename')}:{(place.get('start') or {}).get('line')})" if place else ""
            diagnostics.append(
                warning("batch.refused", f"{unit.name}: {said['summary']}", f"{said.get('detail', '')}{at}")
            )
    return diagnostics


# ---------------------------------------------------------------- graph


def graph_json(analysis: Analysis) -> dict[str, Any]:
    """The graph of the selected units, format 1.0: {"format_version", "nodes": [{"unit", "folder", "wave", "state",
    "tags", "groups", "selected_by"}...], "edges": [[dependent, dependency]...], "reduced_edges"}."""
    chosen = analysis.selected
    edges = {(a, b) for a in chosen for b in analysis.edges[a] if b in chosen}
    nodes = []
    for name in sorted(chosen, key=lambda unit: (analysis.waves.get(unit, 0), unit)):
        unit = analysis.fleet.units[name]
        nodes.append(
            {
                "unit": name,
                "folder": unit.folder,
                "wave": analysis.waves.get(name, 0),
                "state": analysis.state_of.get(name, ""),
                "tags": list(unit.tags),
                "groups": list(unit.groups),
                "selected_by": [{"selector": s, "way": w} for s, w in chosen[name]],
            }
        )
    return {
        "format_version": "1.0",
        "nodes": nodes,
        "edges": [list(edge) for edge in sorted(edges)],
        "reduced_edges": [list(edge) for edge in sorted(reduction(edges, {}))],
    }


def graph_dot(document: dict[str, Any]) -> str:
    lines = ["digraph {", '\trankdir = "BT"', '\tnode [shape = "box"]']
    lines += [f"\t{quote(node['unit'])}" for node in document["nodes"]]
    lines += [f"\t{quote(a)} -> {quote(b)}" for a, b in document["reduced_edges"]]
    return "\n".join([*lines, "}"])


# ---------------------------------------------------------------- why


def why(options: BatchOptions, unit: str, other: str, negated: bool = False) -> dict[str, Any]:
    """The proof that `unit` waits for `other` as JSON or, if `negated`, the reasons why it does not wait. Raises
    Failure, for example if `negated` is given and the unit waits."""
    from planner.logic.datalog.explain.why_not import obstacles

    analysis = analysed(evolve(options, words=()), ("waits_for",))
    if has_errors(analysis.fleet.diagnostics):
        raise Failure(analysis.fleet.diagnostics)
    database = analysis.database
    for name in (unit, other):
        if name not in analysis.fleet.units:
            detail = f"No unit is called {name}.{did_you_mean(name, analysis.fleet.units)}"
            raise Failure(error("batch.unknown_unit", "Unknown unit", detail))
    row = (unit, other)
    predicate = "edge" if row in database["edge"] else "waits_for"
    if row in database[predicate]:
        if negated:
            detail = f"{unit} waits for {other}; omit -not to see why."
            raise Failure(error("batch.holds", "The unit waits", detail))
        proof = Prover(database.program, database).why(predicate, row)
        assert proof is not None
        return proof_json(proof, database.facts, fleet_source)
    obstacles_met = obstacles(Prover(database.program, database), "edge", row)
    if negated:
        return {"format_version": "1.0", "goal": ["edge", unit, other], "holds": False, "rules": obstacles_met}
    detail = f"{unit} can run before {other}: there is no chain of edges from {unit} to {other}."
    raise Failure(error("batch.no_wait", "Nothing to explain", detail))


def selection_proof(options: BatchOptions, unit: str) -> dict[str, Any]:
    """The proof that the selection includes a unit. Raises Failure if it does not."""
    analysis = analysed(options)
    database = analysis.database
    rows = [row for row in database.sorted("selected_unit") if row[0] == unit]
    if not rows:
        raise Failure(error("batch.not_selected", "Not selected", f"The selection does not include the unit {unit}."))
    proof = Prover(database.program, database).why("selected_unit", rows[0])
    assert proof is not None
    return proof_json(proof, database.facts, fleet_source)


def why_pending(options: BatchOptions, unit: str, negated: bool, listener: BatchListener) -> dict[str, Any]:
    """Plan a unit with its dependencies, and return {"format_version", "goal", "holds", "proofs": [...]}. There is a
    proof for each part of the unit's plan that is unknown until another unit is applied. If `negated`, there is instead
    a proof for each dependency for which the plan does not wait. Raises Failure, for example if there is nothing to
    prove."""
    predicate = "not_pending" if negated else "pending"
    documents, comes_after = _proofs(options, unit, ("pending", "not_pending"), (predicate,), listener)
    if not documents:
        if not comes_after:
            detail = f"{unit} has no dependencies, so its plan does not wait for any."
        elif negated:
            detail = (
                f"{unit} waits for values of all its dependencies. "
                f"To see the values, run: planner batch why pending {unit}"
            )
        else:
            detail = (
                f"Nothing in the plan of {unit} waits for another unit. "
                f"To see why, run: planner batch why -not pending {unit}"
            )
        raise Failure(error("batch.not_pending", "Nothing to explain", detail))
    return {"format_version": "1.0", "goal": [predicate, unit], "holds": True, "proofs": documents}


def why_outcome(options: BatchOptions, unit: str, listener: BatchListener) -> dict[str, Any]:
    """Plan a unit with its dependencies, and return the proof of its outcome as JSON. If the plan waits for values of
    other units, the member "pending" has the proofs for these values. Raises Failure."""
    documents, _ = _proofs(options, unit, ("outcome", "pending"), ("outcome", "pending"), listener)
    if not documents:
        raise Failure(error("batch.no_outcome", "Nothing to explain", f"{unit} has no plan."))
    outcome, *pending = documents
    return {**outcome, "pending": pending} if pending else outcome


def _proofs(
    options: BatchOptions, unit: str, want: tuple[str, ...], shown: tuple[str, ...], listener: BatchListener
) -> tuple[list[dict[str, Any]], bool]:
    """Plan a unit with its dependencies, and derive the relations `want`. Returns the proofs of the unit's rows in the
    relations `shown`, and whether the unit has dependencies. Raises Failure."""
    fleet = Batch(options, "plan").fleet
    if unit not in fleet.units:
        detail = f"No unit is called {unit}.{did_you_mean(unit, fleet.units)}"
        raise Failure(error("batch.unknown_unit", "Unknown unit", detail))
    own = own_rules(options, fleet)
    meant = evolve(options, words=(*options.words, f"deps({unit})"))
    database, _, problems = over_plans(meant, batch_program(own), want, listener)
    if database is None:
        raise Failure([problem for problem in problems if problem.is_error])
    prover = Prover(database.program, database)
    documents = []
    for predicate in shown:
        for row in database.sorted(predicate):
            if row[0] == unit:
                proof = prover.why(predicate, row)
                assert proof is not None
                documents.append(proof_json(proof, database.facts, fleet_source))
    return documents, any(row[0] == unit for row in database.facts.relation("earlier"))


# ---------------------------------------------------------------- contents


def plans_needed(program: RuleProgram, want: tuple[str, ...]) -> bool:
    """Whether these predicates depend on the outcomes of plans."""
    needed = program.needed(want)
    return any(program.predicates[name].number in needed for name in OUTCOMES)


def over_plans(
    options: BatchOptions, program: RuleProgram, want: tuple[str, ...], listener: BatchListener
) -> tuple[Database | None, BatchReport | None, list[Diagnostic]]:
    """Derive the relations `want` of a program. If they depend on plans, plan the fleet first. Returns the derived
    relations (None after an error), the report of planning (None if nothing was planned) and diagnostics. Raises
    Failure."""
    contents = contents_needed(program, want)
    if not contents and not plans_needed(program, want):
        analysis = analysed(options, want)
        if has_errors(analysis.diagnostics):
            return None, None, list(analysis.diagnostics)
        return evaluate(program, analysis.database.facts, want), None, list(analysis.diagnostics)
    report = plan(options, listener, facts=contents)
    if report.analysis is None or has_errors(report.diagnostics):
        return None, report, list(report.diagnostics)
    facts = with_contents(report.analysis, report.done)
    return evaluate(program, facts, want), report, list(report.diagnostics)


def query(
    options: BatchOptions, question: str, listener: BatchListener, seconds: float
) -> tuple[Answers, list[Diagnostic]]:
    """The answer to a Datalog query about the fleet (empty after an error), and diagnostics. If the query reads plans,
    the fleet is planned first. Raises Failure for an invalid query."""
    fleet_root = Batch(options, "plan").fleet
    own = own_rules(options, fleet_root)
    program = batch_program(own)
    parsed, problems = parse_query(program, question)
    if parsed is None:
        raise Failure(problems)
    database, report, more = over_plans(options, batch_program(own), tuple(sorted(parsed.predicates)), listener)
    if database is None:
        return Answers(), more
    base: Database = database

    def answer() -> Answers:
        result = ask(program, base, parsed)
        return Answers(result.columns, [tuple(decode(value) for value in row) for row in result.rows])

    return run_limited(answer, seconds), [*problems, *more, *failed_units(report)]


def failed_units(report: BatchReport | None, make: Callable[[str, str, str], Diagnostic] = warning) -> list[Diagnostic]:
    """A diagnostic about the units without a plan, whose changes are unknown; empty if all units have plans."""
    bad = (
        sorted(u for u, d in report.done.items() if d.outcome in ("failed", "died", "skipped", "stopped"))
        if report
        else []
    )
    if not bad:
        return []
    detail = f"The plans of {', '.join(bad)} are not known. To see why, run: planner batch plan"
    return [make("batch.missing_plans", "Units without a plan", detail)]


# Sources of edges: kind, deriving rule, and line of a file.


Edge = tuple[str, str]


@frozen
class UnitEdgeSource:
    """The sources of an edge between units. `layers`: its kinds (reference, order). `makers`: the rules that derive the
    edge. `places`: the lines that cause the edge."""

    layers: tuple[str, ...]
    makers: tuple[Maker, ...]
    places: tuple[FileLocation, ...]


def grounds(analysis: Analysis) -> dict[Edge, UnitEdgeSource]:
    """The sources of all edges between units, as {edge: source}. Empty if the analysis comes from the cache."""
    if analysis.derived is None:
        return {}
    program, facts = batch_program(analysis.own), analysis.derived.facts
    database = evaluate(program, facts, ("edge", "edge_layer"))
    layers: dict[Edge, list[str]] = defaultdict(list)
    for unit, other, layer in database["edge_layer"]:
        layers[unit, other].append(layer)
    places: dict[Edge, set[FileLocation]] = defaultdict(set)
    for edge, source in _edge_facts(database):
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


def _edge_facts(database: Database) -> Iterator[tuple[Edge, object]]:
    """The facts from files that cause an edge between two units, as (edge, source of the fact)."""
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


def policy(options: BatchOptions, words: tuple[str, ...], listener: BatchListener) -> tuple[Verdict, list[Diagnostic]]:
    """The verdict of the policies that check all plans together (empty after an error), and diagnostics. Units without
    a plan are an error, because policies cannot check them. Raises Failure."""
    fleet = Batch(options, "plan").fleet
    policies = load_policies(fleet, own_rules(options, fleet), words)
    database, report, more = over_plans(options, policies.program, policies.modal.verdicts, listener)
    problems = [*policies.problems, *more]
    if database is None:
        return Verdict(), problems
    verdict = verdict_of(policies.modal, policies.program, database, fleet_source)
    return verdict, [*problems, *failed_units(report, error)]


def managed_objects(folder: str, but: str) -> tuple[list[KnownObject], list[Diagnostic]]:
    """The managed objects in the states of all units of a fleet, and diagnostics. They are used to find objects that no
    unit manages. The unit in the directory `but` with its current workspace is left out. Returns no objects if the
    fleet has errors. Raises Failure."""
    batch = Batch(BatchOptions((folder,)), "plan")
    workspace, _, _ = current_workspace(but, os.environ)
    try:
        problems = list(batch.fleet.diagnostics)
        if has_errors(problems):
            return [], problems
        batch.survey()
        units = [
            name
            for name, unit in sorted(batch.fleet.units.items())
            if not _is_at(unit.directory(batch.fleet.root), but) or unit.workspace not in ("", workspace)
        ]
        results = batch.run_all([evolve(state_request(batch, unit), facts=(IDENTITIES,)) for unit in units])
    finally:
        batch.close()
    known: list[KnownObject] = []
    for result in results:
        problems += _problems(result)
        known += [KnownObject(*row) for row in result.facts.get(IDENTITIES, ())]
    return known, problems


def _is_at(directory: str, other: str) -> bool:
    return os.path.realpath(directory) == os.path.realpath(other)


def _problems(result: UnitResult) -> list[Diagnostic]:
    """The errors that occurred while a unit's state was read. Each names the unit."""
    errors = [d for d in result.diagnostics if d["severity"] == "error"]
    return [error("batch.state", f"{result.unit}: {d['summary']}", str(d["detail"])) for d in errors]
