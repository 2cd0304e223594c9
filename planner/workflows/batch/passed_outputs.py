"""Passes the outputs of planned and applied units to the units that read them. The encoded values are kept in the
memory of the batch process and, unless they are secret, in the record of the run. To find values that changed, digests
with the user's key are compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from planner.answers.documents.encoding import decode, encode
from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import dumps, orjson
from planner.foundation.support.store import seal
from planner.foundation.values.convert import path_text
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import apply_marks, unknown_paths
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.model.plan import Plan
from planner.workflows.batch.model import FinishedUnit, Request, UnitResult
from planner.world.state.model import State

_NAME = "planned outputs"
_ONCE = os.urandom(16)
"""key of digests for users without a key; these digests are valid only in this process"""


class Handed:
    """The planned outputs of the units of a run. `done`: {unit: its outcome} so far. `key`: the key of digests; by
    default the user's key."""

    def __init__(self, done: Mapping[str, FinishedUnit], key: bytes = b"") -> None:
        self.done, self.key = done, key
        self._values: dict[str, dict[str, Any]] = {}

    def take(self, result: UnitResult, path: str) -> UnitResult:
        """Store the planned values of a result in memory and, if they are not secret, in the file at `path` ("": only
        in memory). Returns the result without these values."""
        if not result.planned and not result.changed:
            return result
        values = result.planned
        self._values[result.unit] = values
        digests = tuple((name, _digest(value, self.key)) for name, value in sorted(values.items()))
        file = ""
        if path and not (result.is_secret or result.is_planned_secret) and result.changed:
            file = path if _write(path, values) else ""
        return evolve(result, planned={}, digests=digests, planned_file=file)

    def digests(self, unit: str, key: bytes) -> tuple[tuple[str, str], ...]:
        """The digests of a unit's outputs with the key `key`; empty if no values are known. Raises Failure if the file
        with the values is damaged."""
        result = self.done[unit].result
        is_elsewhere = unit not in self._values and result is not None and bool(result.planned_file)
        values = self._of(unit) if is_elsewhere else self._values.get(unit, {})
        return tuple((name, _digest(value, key)) for name, value in sorted(values.items()))

    def seen(self, unit: str) -> str:
        """A digest that identifies a unit's planned outputs."""
        result = self.done[unit].result
        assert result is not None
        return blake2b(orjson.dumps([result.changed, result.digests]), digest_size=16).hexdigest()

    def completed(self, request: Request) -> Request:
        """The request with the values of the planned outputs that its unit reads. Raises Failure."""
        if not any(one.seen for one in request.upstream):
            return request
        upstream = tuple(evolve(one, planned=self._of(one.unit)) if one.seen else one for one in request.upstream)
        return evolve(request, upstream=upstream)

    def _of(self, unit: str) -> dict[str, Any]:
        values = self._values.get(unit)
        if values is None:
            result = self.done[unit].result
            assert result is not None
            values = self._values[unit] = _read(unit, result)
        return values


def _digest(value: Any, key: bytes = b"") -> str:
    data = dumps(value, escape_html=False)
    if key:
        return blake2b(data, key=key, digest_size=16).hexdigest()
    made = seal(_NAME, "", data)
    return (made if made is not None else blake2b(data, key=_ONCE, digest_size=16).digest()).hex()


def _write(path: str, values: Mapping[str, Any]) -> bool:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(dumps(values, escape_html=False))
    except OSError:
        return False
    return True


def _read(unit: str, result: UnitResult) -> dict[str, Any]:
    try:
        values = orjson.loads(read_whole(result.planned_file))
    except (OSError, orjson.JSONDecodeError):
        values = None
    known = dict(result.digests)
    if values.__class__ is not dict or {name: _digest(value) for name, value in values.items()} != known:
        detail = f"The planned outputs of {unit} are no longer in {result.planned_file}: use -no-cache."
        raise Failure(error("batch.planned_outputs", "Damaged record", detail))
    return dict(values)


def can_be_read(result: UnitResult) -> bool:
    """Whether dependents can still use a unit's plan from an earlier run. This is the case if the plan changes no
    outputs, or if the file with its planned outputs exists."""
    return not result.changed or os.path.exists(result.planned_file)


def changed_outputs(planned: UnitResult, now: UnitResult, names: Iterable[str] | None = None) -> list[str]:
    """The names of the outputs whose values were known in the plan `planned` and are different in the result `now`,
    sorted. `names`: the outputs to compare; None for all."""
    unknown = {output for output, _ in planned.unknown}
    before, after = dict(planned.digests), dict(now.digests)
    wanted = set(before) if names is None else set(names)
    return sorted(name for name in wanted - unknown if before.get(name) != after.get(name))


# A unit's planned outputs as plain data, and the unknown parts on which another unit's plan depends. Values have the
# encoding of planner.answers.documents.encoding, and are kept in memory unless record.py permits a file. Each unknown
# part has a mark with its place; like `sensitive`, the mark passes to every value computed from it.


NEW = ""
"""element of `Gives.changed` that means that the state does not exist yet, so all its outputs change"""


@frozen
class Awaited:
    """The mark of a value that is unknown until `unit` is applied. `output` and `path`: the place of the value in the
    outputs of that unit."""

    unit: str
    output: str
    path: str


@frozen
class Gives:
    """A unit's planned outputs. `changed`: outputs that change or are removed. `unknown`: their unknown parts, as
    (output, path). `values`: all outputs, encoded. `is_secret`: a changed output is sensitive."""

    changed: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    values: dict[str, Any] = field(factory=dict)
    is_secret: bool = False


def gives(plan: Plan, declared: Iterable[str] = ()) -> Gives:
    """The planned root outputs. `declared`: the names of all root outputs; if the plan has deferred changes, outputs
    that it does not contain are unknown."""
    before = plan.previous_state.outputs
    changed = set() if plan.previous_state.lineage else {NEW}
    secret = False
    unknown: list[tuple[str, str]] = []
    values: dict[str, Value] = {}
    for output in plan.outputs:
        value = unmark_deep(output.after)[0]
        recorded = before.get(output.name)
        is_gone = value.__class__ is Null
        if not is_gone:
            values[output.name] = value
        if is_gone and recorded is None:
            continue
        places = unknown_paths(value)
        if not is_gone and recorded is not None and not places and same_value(value, unmark_deep(recorded.value)[0]):
            continue
        changed.add(output.name)
        secret = secret or output.sensitive
        unknown += [(output.name, path_text(path)) for path in places]
    for name in sorted({*declared} - {output.name for output in plan.outputs}) if plan.deferred else ():
        values[name] = Unknown(DYNAMIC)
        changed.add(name)
        unknown.append((name, ""))
    encoded = {name: encode(value, {}) for name, value in sorted(values.items())}
    return Gives(tuple(sorted(changed)), tuple(sorted(unknown)), encoded, secret)


def with_outputs(
    request: Request, plan: Plan, inputs: Mapping[str, Value], short: UnitResult, declared: Iterable[str] = ()
) -> UnitResult:
    """The summary `short` of a plan, with two additions: the unknown outputs of other units on which the plan depends,
    through `inputs` or states; and, if dependents need them, the unit's own planned outputs. A plan that only postpones
    reads until other units are applied counts as a plan without changes."""
    if any(one.seen for one in request.upstream):
        reads = _only_read(plan)
        used = [(f"var.{name}", mark) for name, value in inputs.items() for mark in awaited_in(value)]
        used += rests_on(plan, reads)
        result = "no-changes" if _is_nothing_but(plan, reads) else short.result
        rows = sorted({(user, mark.unit, mark.output, mark.path) for user, mark in used})
        short = evolve(short, result=result, rests_on=tuple(rows))
    if not request.is_read or (short.result != "changes" and not short.is_partial):
        return short
    outputs = gives(plan, declared)
    return evolve(
        short,
        changed=outputs.changed,
        unknown=outputs.unknown,
        planned=outputs.values,
        is_planned_secret=outputs.is_secret,
    )


def _only_read(plan: Plan) -> frozenset[str]:
    """The addresses of the data sources that cannot be read while planning, because another unit has to write the state
    that they read first."""
    return frozenset(
        c.address for c in plan.changes if c.mode == "data" and any(fact[0] == "state_changes" for fact in c.facts)
    )


# decided in Python: whether a unit's plan only postpones reads of states -- this concerns one plan, not a fleet
def _is_nothing_but(plan: Plan, reads: frozenset[str]) -> bool:
    if not reads or any(output.action != "no-op" for output in plan.outputs):
        return False
    return all((c.action == "no-op" and c.importing is None) or c.address in reads for c in plan.changes)


def state_outputs(state: State) -> dict[str, Any]:
    return {name: encode(unmark_deep(output.value)[0], {}) for name, output in sorted(state.outputs.items())}


def outputs_of(unit: str, values: Mapping[str, Any]) -> dict[str, Value]:
    """{name: value}: the decoded outputs of a unit. Each unknown part has a mark (Awaited). Raises Failure for invalid
    data."""
    try:
        return {name: _awaited(unit, name, decode(raw, {})) for name, raw in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as bad:
        detail = f"The planned outputs of {unit} cannot be read: {bad}. Plan again with -no-cache."
        raise Failure(error("batch.planned_outputs", "Damaged record", detail)) from None


def own_outputs(values: Mapping[str, Value]) -> dict[str, Value]:
    """The values of outputs, without the additional entries for a deployment, whose names contain a "."."""
    return {name: value for name, value in values.items() if "." not in name}


def _awaited(unit: str, output: str, value: Value) -> Value:
    places = unknown_paths(value)
    return apply_marks(value, [(p, frozenset((Awaited(unit, output, path_text(p)),))) for p in places])


def awaited_in(value: Value) -> set[Awaited]:
    return {mark for mark in unmark_deep(value)[1] if mark.__class__ is Awaited}


def rests_on(plan: Plan, states: Iterable[str]) -> list[tuple[str, Awaited]]:
    """The parts of a plan that depend on unknown outputs of other units, as (address, mark). Objects whose address is
    in `states` are left out; these are data sources that read states of other units."""
    items: set[tuple[str, Awaited]] = set()
    passing = set(states)
    for change in plan.changes:
        if change.address not in passing:
            items |= {(change.address, mark) for mark in awaited_in(change.after)}
    for output in plan.outputs:
        items |= {(f"output.{output.name}", mark) for mark in awaited_in(output.after)}
    for address, value in plan.providers:
        items |= {(address, mark) for mark in awaited_in(value)}
    return sorted(items, key=lambda item: (item[0], item[1].unit, item[1].output, item[1].path))
