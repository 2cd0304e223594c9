"""Values at the last apply, from the record next to the state."""

from __future__ import annotations

from planner.engine.evaluation.text_digests import expression_digests
from planner.foundation.support.disk import read_whole
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.records import field, frozen
from planner.language.syntax.nodes import Expression
from planner.world.state.value_record import Digester, Status, ValueRecord, status


@frozen(eq=False)
class KnownValues:
    """The record that counts for the state of a plan, and what makes digests to compare with."""

    record: ValueRecord
    digester: Digester
    _digests: dict[int, tuple[Expression, dict[int, str]]] = field(factory=dict, init=False)
    _numbers: dict[str, int | None] = field(factory=dict, init=False)

    def status(self, place: str, value: Value, whole: str = "") -> Status:
        """Whether the value at a place is unchanged; None is for no value there. `whole`: see status."""
        digest = self.digester.of(value) if value is not None else None
        if digest is None and value is not None:
            return "unknown"
        return status(self.record.values, place, digest, whole)

    def text_status(self, name: str, node: Expression, whole: Expression, block: str) -> Status:
        """Whether an expression stood there in the whole of another; `block`: see ValueRecord."""
        known = self._digests.get(id(whole))
        if known is None:
            known = self._digests[id(whole)] = (whole, expression_digests(whole, self.digester))
        digest = known[1].get(id(node))
        return self.record.text_status(name, digest, block) if digest is not None else "unknown"

    def number(self, place: str, most: int) -> int | None:
        """The number at a place, if it was no greater than `most`, which is the same for one place."""
        if place not in self._numbers:
            recorded = self.record.values.get(place, ())
            self._numbers[place] = next((n for n in range(most + 1) if self.digester.of(n) in recorded), None)
        return self._numbers[place]

    def file_status(self, path: str) -> Status:
        """Whether a file is unchanged."""
        try:
            data = read_whole(path)
        except (OSError, ValueError):
            return "unknown"
        return status(self.record.files, path, self.digester.of_bytes(data))
