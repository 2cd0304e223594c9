"""The decisions about one unit, as rules/batch/running.dl derives them. Only the outcomes of other units matter and not
their names, so each shape is derived once and remembered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from attrs import frozen

from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.datalog.engine.looks import collapsed
from planner.datalog.engine.program import Program
from planner.programs.fleet import batch_program

_WANT = ("skipped", "runs", "reused", "pending", "outcome", "appliable", "retried", "spares_tainted", "decided_by")
_UNIT = "unit"


@frozen
class Decision:
    """What the rules say. `skipped` and `pending` name other units."""

    skipped: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    runs: bool = False
    reused: bool = False
    outcome: str = ""
    appliable: bool = False
    retried: bool = False
    spares_tainted: bool = False
    because: str = ""


def decide(
    command: str,
    before: Mapping[str, str],
    same_inputs: bool = False,
    result: str = "",
    died: int = 0,
    asks_plugins: bool = False,
    was_cut_off: bool = False,
) -> Decision:
    """What becomes of a unit. `before`: the outcomes of the units that come before it; `result`: how its own run ended,
    "" before that; `died`: how often a process died that ran it; `was_cut_off`: it was in work when a run that is
    resumed now was cut off."""
    shape = _decide(command, frozenset(before.values()), same_inputs, result, died, asks_plugins, was_cut_off)
    if not shape.skipped and not shape.pending:
        return shape
    names = sorted(before)
    return Decision(
        tuple([n for n in names if before[n] in shape.skipped]) if shape.skipped else (),
        tuple([n for n in names if before[n] in shape.pending]) if shape.pending else (),
        shape.runs,
        shape.reused,
        shape.outcome,
        shape.appliable,
        shape.retried,
        shape.spares_tainted,
        next((n for n in names if before[n] == shape.because), ""),
    )


@cache
def _program() -> Program:
    return collapsed(batch_program(), "earlier", 1)


@cache
def _decide(
    command: str,
    outcomes: frozenset[str],
    same_inputs: bool,
    result: str,
    died: int,
    asks_plugins: bool,
    was_cut_off: bool,
) -> Decision:
    facts = FactBuilder()
    facts.add("command", command)
    facts.add("about_unit", _UNIT)
    for outcome in outcomes:
        facts.add("earlier", _UNIT, outcome, outcome)  # another unit is called like its outcome here
    if same_inputs:
        facts.add("same_inputs", _UNIT)
    if asks_plugins:
        facts.add("asks_plugins", _UNIT)
    if was_cut_off:
        facts.add("was_cut_off", _UNIT)
    if result:
        facts.add("result", _UNIT, result)
    if died:
        facts.add("died_times", _UNIT, died)
    database = evaluate(_program(), facts.build(), _WANT)
    outcome_rows = database.sorted("outcome")
    if len(outcome_rows) > 1:
        raise AssertionError(f"the rules derive several outcomes: {outcome_rows}")
    return Decision(
        tuple(str(row[1]) for row in database.sorted("skipped")),
        tuple(str(row[1]) for row in database.sorted("pending")),
        bool(database["runs"]),
        bool(database["reused"]),
        str(outcome_rows[0][1]) if outcome_rows else "",
        bool(database["appliable"]),
        bool(database["retried"]),
        bool(database["spares_tainted"]),
        next((str(row[1]) for row in database.sorted("decided_by")), ""),
    )
