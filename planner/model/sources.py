"""Where a fact comes from, as proofs show it."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from planner.vocabulary.span import Span


@frozen
class StateEntry:
    """A place in the state: the address of an instance or output."""

    address: str


@frozen
class CommandLine:
    """An argument of the command line, as written."""

    argument: str


def source_json(source: Any) -> dict[str, Any]:
    """The source of a leaf in the proof format: a place in a file, a state entry, or a command line argument."""
    if isinstance(source, Span):
        position = source.start_position
        return {
            "file": source.filename,
            "line": position.line,
            "column": position.column,
            "snippet": source.source.line_text(position.line),
        }
    if isinstance(source, StateEntry):
        return {"state": source.address}
    if isinstance(source, CommandLine):
        return {"command_line": source.argument}
    raise TypeError(f"no source of a fact: {source!r}")
