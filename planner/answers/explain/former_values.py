"""What the record beside the state tells of places: whether values, texts and repetitions are what they were when they
were last applied, under the names that they had then."""

from __future__ import annotations

from planner.answers.explain.former_names import FormerNames
from planner.answers.explain.known_values import KnownValues
from planner.answers.explain.places import LocationLookup, ValueLocation, repeatable, repetition
from planner.answers.explain.repetition import RepetitionLocation
from planner.engine.evaluation.value_digests import repetition_value
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.records import frozen
from planner.language.syntax.nodes import Expression
from planner.world.state.value_record import Status

_WITHOUT_VALUES = ("each", "each_call", "resources", "call", "provider")


@frozen(eq=False)
class OnRecord:
    """Answers are "unknown" where there is no record, or nothing in it."""

    known: KnownValues | None
    names: FormerNames
    places: LocationLookup

    def value(self, place: ValueLocation, value: Value) -> Status:
        """Whether the value at a place is what it was."""
        if self.known is None or place.kind in _WITHOUT_VALUES:
            return "unknown"
        return self.known.status(self.names.value(str(place)), value, self.names.value(place.root_text))

    def text(self, place: ValueLocation, node: Expression | None = None) -> Status:
        """Whether an expression stood where it stands now in the one that gives the value at a place; without `node`,
        whether that was the same as a whole: if not, its parts now do not tell what the value was."""
        whole = self.places.whole_text(place)
        if self.known is None or whole is None:
            return "unknown"
        name, block = self.names.text(place.text_name), self.names.text(place.block_name)
        return self.known.text_status(name, whole.node if node is None else node, whole.node, block)

    def had_text(self, place: ValueLocation) -> bool:
        """Whether there was an expression that gave the value at a place."""
        return self.known is not None and bool(self.known.record.texts.get(self.names.text(place.text_name)))

    def file(self, path: str) -> Status:
        """Whether a file is what it was."""
        return self.known.file_status(path) if self.known is not None else "unknown"

    def repeats_otherwise(self, at: RepetitionLocation, place: ValueLocation, goes: bool) -> bool:
        """Whether there are other instances than before because the block at a place says so."""
        status: Status = "unknown"
        if self.known is not None:
            whole = repetition_value(at.argument, at.now)
            value: Value = whole if at.argument != "for_each" else None if goes else str(at.key)
            name = self.names.value(str(place))
            status = self.known.status(name, value, self.names.value(str(place.whole)))
            if at.argument == "count" and status == "other" and not goes and isinstance(at.key, int):
                had = self.known.number(name, len(at.now))
                return had is not None and had <= at.key
        if status != "unknown" or at.before:
            return status != "same"
        return repetition(repeatable(place))[1] is not None and self.text(place) == "other"
