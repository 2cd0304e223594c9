"""What rules derive without any facts: small tables, kept in the user's cache beside the compiled rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.engine.cache import MADE_BY, load_program, parts
from planner.logic.datalog.language.values import Row

TABLES = Shelf("derived", 10, made_by=MADE_BY)
"""each change of a rule file leaves one"""


def derived(files: Sequence[tuple[str, str]], want: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of predicates, sorted, that rule files (name, text) derive. Raises Failure when a file is broken."""
    wanted = sorted(want)
    name = TABLES.name(*wanted, *parts(files, None))
    known: dict[str, list[Row]] | None = TABLES.value(name)
    if known is not None:
        return known
    return _derive(files, wanted, name)


def _derive(files: Sequence[tuple[str, str]], wanted: list[str], name: str) -> dict[str, list[Row]]:
    from planner.logic.datalog.engine.evaluate import evaluate
    from planner.logic.datalog.engine.fact_base import FactBuilder

    program, diagnostics = load_program(files)
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    database = evaluate(program, FactBuilder().build(), wanted)
    table = {predicate: database.sorted(predicate) for predicate in wanted}
    TABLES.keep(name, table)
    return table
