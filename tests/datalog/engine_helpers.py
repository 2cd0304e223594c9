"""What the tests of the engine share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.evaluate import Database, evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.language.values import decode


def program(text: str, name: str = "rules.dl") -> RuleProgram:
    """A program that has to be without errors."""
    loaded, diagnostics = load_program([(name, text)])
    assert loaded is not None, "\n".join(map(shown, diagnostics))
    return loaded


def derived(text: str, facts: dict[str, Any], want: list[str] | None = None) -> Database:
    return evaluate(program(text), FactBase.build(facts), want)


def plain(rows: Any) -> set[tuple[Any, ...]]:
    """Rows as plain values. True and 1 merge: look at types where that matters."""
    return {tuple(map(decode, row)) for row in rows}


def shown(diagnostic: Diagnostic) -> str:
    """A diagnostic as the goldens write it, with the line and a caret."""
    lines = [f"{diagnostic.severity} {diagnostic.code}: {diagnostic.summary}"]
    span = diagnostic.subject
    if span is not None:
        start, end = span.start_position, span.end_position
        text = span.source.line_text(start.line)
        last = end.column if end.line == start.line else len(text) + 1
        lines[0] += f" ({span.filename}:{start.line}:{start.column})"
        lines += [f"  | {text[:150]}", "  | " + " " * (start.column - 1) + "^" * max(1, min(last, 151) - start.column)]
    return "\n".join([*lines, *(f"  {line}" for line in diagnostic.detail.splitlines())])


def check_golden(path: Path, text: str) -> None:
    """Compare with a golden file; GOLDEN=refresh in the environment writes it anew."""
    if os.environ.get("GOLDEN") == "refresh":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
