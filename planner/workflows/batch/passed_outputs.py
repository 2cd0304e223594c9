"""What planned and applied units hand to those who read their outputs: encoded values, in the memory of the process
that runs a batch, and in the record of the run where they are no secret. Digests with the user's key say what they
were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import dumps
from planner.foundation.support.fast_json import orjson
from planner.foundation.support.store import seal
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.model import FinishedUnit, Request, UnitResult

_NAME = "planned outputs"
_ONCE = os.urandom(16)
"""the key where the user has none: digests mean nothing in another process then"""


class Handed:
    """The values by unit. `done` is what became of the units so far; `key` that of the digests, where it is not the
    user's."""

    def __init__(self, done: Mapping[str, FinishedUnit], key: bytes = b"") -> None:
        self.done, self.key = done, key
        self._values: dict[str, dict[str, Any]] = {}

    def take(self, result: UnitResult, path: str) -> UnitResult:
        """A result without its values, which are here now, and in the file if that may be ("": it may not)."""
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
        """The digests of what the unit hands out, with another key. Raises Failure."""
        result = self.done[unit].result
        is_elsewhere = unit not in self._values and result is not None and bool(result.planned_file)
        values = self._of(unit) if is_elsewhere else self._values.get(unit, {})
        return tuple((name, _digest(value, key)) for name, value in sorted(values.items()))

    def seen(self, unit: str) -> str:
        """A name for what the unit's outputs are going to be: others have another name."""
        result = self.done[unit].result
        assert result is not None
        return blake2b(orjson.dumps([result.changed, result.digests]), digest_size=16).hexdigest()

    def completed(self, request: Request) -> Request:
        """The request with the values of the outputs that its unit sees. Raises Failure."""
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
        detail = f"What was planned for the outputs of {unit} is not in {result.planned_file} any more: use -no-cache."
        raise Failure(error("batch.planned_outputs", "Damaged record", detail))
    return dict(values)


def can_be_read(result: UnitResult) -> bool:
    """Whether a plan of an earlier run can still be handed to who reads its outputs."""
    return not result.changed or os.path.exists(result.planned_file)


def moved(planned: UnitResult, now: UnitResult, names: Iterable[str] | None = None) -> list[str]:
    """The outputs that were known by a plan and have other values since it was applied."""
    unknown = {output for output, _ in planned.unknown}
    before, after = dict(planned.digests), dict(now.digests)
    wanted = set(before) if names is None else set(names)
    return sorted(name for name in wanted - unknown if before.get(name) != after.get(name))
