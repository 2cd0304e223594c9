"""What is known of JSON texts with unknown parts: rows as those of the relations that look into a text."""

from __future__ import annotations

from typing import Any

from planner.datalog.front.builtins import RELATIONS
from planner.policy.values import ValueRows
from planner.values.types import DYNAMIC, Primitive
from planner.values.value import Unknown, Value
from planner.vocabulary.records import frozen


@frozen(eq=False)
class KnownDocument:
    """`values`: what stands at which path; `parts`: where the elements of what are, by path and key; `unknown`: the
    unknown parts by their paths; `open`: those of them that may have parts themselves."""

    values: dict[str, Any]
    parts: dict[tuple[str, Any], str]
    unknown: dict[str, Unknown]
    open: tuple[str, ...]

    def may_have(self, path: Any) -> bool:
        """Whether the path, or (None, or what is no text) any, may lie at or below a part that may have parts."""
        if not isinstance(path, str):
            return bool(self.open)
        return any(path == at or path.startswith((f"{at}.", f"{at}[")) or not at for at in self.open)

    def may_equal(self, other: KnownDocument) -> bool:
        """Whether both may turn out to be the same, as far as what is known of each says."""
        return self._may_hold(other) and other._may_hold(self)

    def _may_hold(self, other: KnownDocument) -> bool:
        """Whether what is known of the other may stand here."""
        for path, value in other.values.items():
            if self.values.get(path, value) != value:
                return False
            if path not in self.values and path not in self.unknown and not self.may_have(path):
                return False
        return all(
            self.parts.get(key, part) == part and (key in self.parts or self.may_have(part))
            for key, part in other.parts.items()
        )


def document_of_text(text: str) -> KnownDocument | None:
    """A text that is JSON as such a document; None for others."""
    values, parts = RELATIONS["json"].function(text), RELATIONS["json_element"].function(text)
    if values is None or parts is None:
        return None
    return KnownDocument(dict(values), {(path, key): inner for path, key, inner in parts}, {}, ())


def known_document(value: Value) -> KnownDocument:
    """What is known of the JSON of a value."""
    rows = ValueRows()
    rows.walk("", "", value)
    unknown = {path: part for (_, path), part in rows.unknown.items()}
    sets = {path for _, path in rows.open} - unknown.keys()  # how many elements they have is not known
    is_open = {path for path, part in unknown.items() if not isinstance(part.type, Primitive) or part.type is DYNAMIC}
    return KnownDocument(
        {path: found for _, path, found in rows.values},
        {(path, key): inner for _, path, key, inner in rows.parts},
        unknown,
        tuple(sorted(is_open | sets)),
    )
