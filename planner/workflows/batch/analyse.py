"""Analysis of a fleet: the edges, waves and selection that the rules derive from the surveys of its units."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.explain.render import reason_text
from planner.logic.datalog.explain.search import Proof, Prover
from planner.logic.programs.rule_programs import Files, batch_program
from planner.workflows.batch.facts import file_facts, fleet_facts, has_objects
from planner.workflows.batch.model import FileLocation, Fleet, Request, Share, Survey, Unit
from planner.workflows.batch.selectors import Selection, select

WANT = (
    "edge",
    "wave",
    "in_cycle",
    "takes_itself",
    "missing_output",
    "shared_state",
    "orphaned_state",
    "selected_unit",
    "changed_unit",
    "run_order",
    "reads_from",
    "gives_input",
    "idle_offer",
    "left_behind",
    "loses_ground",
)
_KEPT = ("edges", "before", "waves", "selected", "state_of", "reads_from", "offered", "parts")
ENVIRONMENT = "TF_"
"""prefix of the environment variables that are passed to workers"""


@frozen(eq=False)
class Analysis:
    """Result of the analysis. `edges`: {unit: all units for which it waits}. `before`: {unit: selected units that run
    before it}. `selected`: {selected unit: [(selector, way)]}; `way` is "all", "named", "dependency" or "dependent", as
    in reports/document.py. `own`: the user's rules."""

    fleet: Fleet
    derived: Database | None
    """the derived facts; None if the analysis comes from the cache"""
    edges: dict[str, tuple[str, ...]]
    before: dict[str, tuple[str, ...]]
    waves: dict[str, int]
    selected: dict[str, list[tuple[str, str]]]
    diagnostics: tuple[Diagnostic, ...] = ()
    command: str = "plan"
    own: Files = ()
    state_of: dict[str, str] = field(factory=dict)
    """{unit: the state that it writes}"""
    reads_from: dict[str, tuple[str, ...]] = field(factory=dict)
    """{unit: the units whose outputs it reads}"""
    offered: dict[str, tuple[str, ...]] = field(factory=dict)
    """{unit: the variables that it receives from its groups}"""
    orphaned: tuple[tuple[str, str], ...] = ()
    """units that were removed although their states still have objects, as (unit, state)"""
    parts: dict[str, tuple[tuple[str, str], ...]] = field(factory=dict)
    """{deployment: ((state, component), ...)}: the states of its components that other units read"""
    share: Share | None = None
    """the shard of the selected units that this job runs; None if one job runs all of them"""

    @property
    def planned(self) -> Collection[str]:
        """The units that this job runs: all selected units or, for a shard, its own units and the units that it plans
        only to obtain their outputs."""
        return self.selected if self.share is None else self.share.units | self.share.beside

    @property
    def database(self) -> Database:
        assert self.derived is not None, "a cached analysis cannot answer queries"
        return self.derived


def to_plain(analysis: Analysis) -> dict[str, Any]:
    """The fields of an analysis that the cache stores, by name. Callers cache only an analysis without diagnostics."""
    return {name: getattr(analysis, name) for name in _KEPT}


def from_plain(data: dict[str, Any], fleet: Fleet, command: str, own: Files) -> Analysis:
    edges, before, waves, selected, state_of, reads_from, offered, parts = (data[name] for name in _KEPT)
    return Analysis(
        fleet,
        None,
        {name: tuple(others) for name, others in edges.items()},
        {name: tuple(others) for name, others in before.items()},
        waves,
        {name: [(selector, way) for selector, way in others] for name, others in selected.items()},
        (),
        command,
        own,
        state_of,
        {name: tuple(others) for name, others in reads_from.items()},
        {name: tuple(others) for name, others in offered.items()},
        parts={name: tuple((state, component) for state, component in ones) for name, ones in parts.items()},
    )


def environment() -> tuple[tuple[str, str], ...]:
    """The environment variables that begin with TF_, as (name, value): every unit receives them, wherever it runs."""
    return tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith(ENVIRONMENT)))


def survey_request(
    fleet: Fleet,
    unit: Unit,
    surroundings: tuple[tuple[str, str], ...],
    around: tuple[tuple[str, str, str], ...] = (),
) -> Request:
    return Request(
        unit.name,
        unit.directory(fleet.root),
        "survey",
        workspace=unit.workspace,
        variables=unit.variables,
        var_files=unit.var_files,
        environment=surroundings,
        recipe=unit.recipe,
        deployment=unit.deployment,
        around=around if unit.deployment is not None else (),
    )


def analyse(
    fleet: Fleet,
    surveys: Mapping[str, Survey],
    selection: Selection,
    command: str = "plan",
    own: Files = (),
    want: Iterable[str] = (),
    known: Mapping[str, str] = {},
) -> Analysis:
    """Derive the order and the selection of the units of a fleet. Raises Failure for an invalid selection, or for rules
    with errors. `own`: the user's rules. `want`: additional relations to derive. `known`: {unit: state} as recorded by
    earlier commands."""
    facts = fleet_facts(fleet, surveys, known)
    facts.add("command", command)
    if command == "destroy":
        for name, survey in surveys.items():
            if survey.state and (not os.path.isabs(survey.state) or has_objects(survey.state)):
                facts.add("may_have_objects", name)
    program = batch_program(own)
    has_files = select(facts, fleet, surveys, selection, program)
    if not has_files and ("reads_file" in want or own):
        file_facts(facts, fleet, surveys)
    database = evaluate(program, facts.build(), {*WANT, *want})
    edges: dict[str, list[str]] = {name: [] for name in fleet.units}
    for dependent, dependency in database.sorted("edge"):
        if dependent in edges and dependency in edges:
            edges[dependent].append(dependency)
    selected: dict[str, list[tuple[str, str]]] = {}
    for unit, selector, way in database.sorted("selected_unit"):
        selected.setdefault(unit, []).append((selector, way))
    before: dict[str, list[str]] = {name: [] for name in selected}
    for earlier, later in database.sorted("run_order"):
        if earlier in before and later in before:
            before[later].append(earlier)
    read: dict[str, list[str]] = {}
    for reader, other in database.sorted("reads_from"):
        read.setdefault(reader, []).append(other)
    offered: dict[str, list[str]] = {}
    for unit, variable in database.sorted("gives_input"):
        offered.setdefault(unit, []).append(variable)
    parts: dict[str, tuple[tuple[str, str], ...]] = {}
    for unit, component, state in sorted(database.facts.relation("keeps_component")):
        parts[unit] = (*parts.get(unit, ()), (state, component))
    return Analysis(
        fleet,
        database,
        {name: tuple(others) for name, others in edges.items()},
        {name: tuple(others) for name, others in before.items()},
        dict(database.sorted("wave")),
        selected,
        tuple(_problems(fleet, surveys, database)),
        command,
        own,
        {name: s.state for name, s in surveys.items()},
        {name: tuple(others) for name, others in read.items()},
        {name: tuple(variables) for name, variables in offered.items()},
        tuple((unit, state) for unit, state in database.sorted("orphaned_state")),
        parts,
    )


def _problems(fleet: Fleet, surveys: Mapping[str, Survey], database: Database) -> Iterable[Diagnostic]:
    for unit, other, state in database.sorted("shared_state"):
        detail = f"{unit} and {other} would both write {state}. Use a separate backend or workspace for one of them."
        yield error("batch.shared_state", "Two units write the same state", detail)
    for unit, state in database.sorted("orphaned_state"):
        detail = (
            f"{unit} is no longer a unit of this fleet, but its state {state} still has objects (the content of a "
            "remote state is not checked). These objects are not planned. To destroy them, restore the unit, or pass "
            "its directory to the command, and destroy the unit. Or add a `removed` block for the unit to the fleet's "
            "file, which destroys or forgets the objects."
        )
        yield warning("batch.orphaned", "A removed unit still has objects", detail)
    for variable, place in database.sorted("idle_offer"):
        detail = f"A group sets the variable {variable} ({place}), but none of its units declares it."
        yield warning("batch.idle_input", "Input does not match a unit", detail)
    for (unit,) in database.sorted("takes_itself"):
        detail = f"{unit} would need its own outputs before it can be planned."
        yield error("batch.self", "A unit waits for itself", detail)
    for unit, variable, other, output in database.sorted("missing_output"):
        ways = (*fleet.units[unit].inputs, *fleet.units[unit].offers)
        place = next((at for given in ways for a, o, at in given.mentions if (a, o) == (other, output)), "")
        nearest = did_you_mean(output, surveys[other].outputs or ())
        taken = f"The variable {variable} of {unit} is set from unit.{other}.{output} ({place})"
        detail = f"{taken}, but {other} declares no such output.{nearest}"
        yield error("batch.missing_output", "Unknown output of a unit", detail)
    for unit, other, outcome in database.sorted("left_behind"):
        detail = (
            f"{unit} waits for {other}, which is excluded from this run and whose last outcome was {outcome}. {unit} "
            f"is planned with the current state of {other}."
        )
        yield warning("batch.left_behind", "A dependency is excluded", detail)
    for unit, other in database.sorted("loses_ground"):
        detail = f"{unit} may have objects and is not selected, but it depends on {other}, which is destroyed."
        yield warning("batch.loses_ground", "Dependents are excluded", detail)
    cycles: dict[str, list[str]] = {}
    for unit, cycle in database.sorted("in_cycle"):
        cycles.setdefault(cycle, []).append(unit)
    for members in cycles.values():
        if len(members) > 1:
            yield error("batch.cycle", "Units wait for each other", _cycle_text(set(members), database))
    for name, survey in sorted(surveys.items()):
        for read in survey.remote:
            if not read.state:
                detail = (
                    f"{name} reads a state in {read.object} ({read.place}) whose location is not constant. "
                    f"If another unit writes it, add depends_on to the fleet's file."
                )
                yield warning("batch.unresolved_read", "Unknown remote state", detail)


def _cycle_text(members: set[str], database: Database) -> str:
    """The text of a diagnostic: the shortest cycle through the alphabetically first of the units, with the reason and
    the source location of each edge."""
    edges: dict[str, list[str]] = {}
    for a, b in database.sorted("edge"):
        if a in members and b in members:
            edges.setdefault(a, []).append(b)
    start = min(members)
    before: dict[str, str] = {}
    waiting = deque([start])
    end = ""
    while waiting and not end:
        at = waiting.popleft()
        for other in edges.get(at, ()):
            if other == start:
                end = at
                break
            if other not in before:
                before[other] = at
                waiting.append(other)
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    way.reverse()
    prover = Prover(database.program, database)
    lines = []
    for a, b in zip(way, [*way[1:], start], strict=True):
        proof = prover.why("edge", (a, b))
        lines.append(f"  {a} waits for {b}: {edge_reason(proof, database)}")
    return f"The shortest cycle through {start}:\n" + "\n".join(lines) + "\nRemove one of these dependencies."


def edge_reason(proof: Any, database: Database) -> str:
    """The reason for an edge, as one line. It ends with the source location of the first fact in the proof that comes
    from a file, other than a `writes_state` fact."""
    place = ""
    for part in proof.body:
        if isinstance(part, Proof) and part.rule is None:
            source = database.facts.source(part.predicate, part.row)
            if isinstance(source, FileLocation) and part.predicate != "writes_state":
                place = f" ({source})"
                break
    return f"{reason_text(proof.rule, proof.assignment)}{place}"
