"""Where a fact comes from, as proofs show it."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span


@frozen
class StateEntry:
    """A place in the state: the address of an instance or output."""

    address: str


@frozen
class CommandLine:
    """An argument of the command line, as written."""

    argument: str


@frozen
class Unquoted(Span):
    """A place in a file whose text must not be shown."""

    @classmethod
    def of(cls, header: Span) -> Span:
        """The place of a declaration, whose line may be shown where it has nothing but the header of a block."""
        line = header.source.line_text(header.line)
        return header if line.rstrip().endswith("{") else cls(header.source, header.start, header.end)


def source_json(source: Any) -> dict[str, Any]:
    """The source of a leaf in the proof format: a place in a file, a state entry, or a command line argument."""
    if isinstance(source, Span):
        position = source.start_position
        place = {"file": source.filename, "line": position.line, "column": position.column}
        if isinstance(source, Unquoted):
            return place
        return {**place, "snippet": source.source.line_text(position.line)}
    if isinstance(source, StateEntry):
        return {"state": source.address}
    if isinstance(source, CommandLine):
        return {"command_line": source.argument}
    raise TypeError(f"no source of a fact: {source!r}")
