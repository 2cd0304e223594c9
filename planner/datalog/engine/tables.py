"""What rules derive without any facts: small tables, kept in the user's cache beside the compiled rules."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence

from planner import own_cache
from planner.datalog.engine.cache import key
from planner.datalog.front.values import Row
from planner.vocabulary.diagnostic import Failure

_MOST_TABLES = 10


def derived(files: Sequence[tuple[str, str]], want: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of predicates, sorted, that rule files (name, text) derive. Raises Failure when a file is broken."""
    wanted = sorted(want)
    name = f"table-{key(files, wanted)}"
    known = _read(name)
    if known is not None:
        return known
    from planner.datalog.engine.cache import load_program
    from planner.datalog.engine.evaluate import evaluate
    from planner.datalog.engine.fact_base import FactBuilder

    program, diagnostics = load_program(files)
    if program is None:
        raise Failure([d for d in diagnostics if d.is_error])
    database = evaluate(program, FactBuilder().build(), wanted)
    table = {predicate: database.sorted(predicate) for predicate in wanted}
    own_cache.store("", name, marshal.dumps(table))
    own_cache.trim("", _MOST_TABLES, prefix="table-")  # each change of a rule file leaves one
    return table


def _read(name: str) -> dict[str, list[Row]] | None:
    data = own_cache.load("", name)
    if data is None:
        return None
    try:
        table: dict[str, list[Row]] = marshal.loads(data)
    except (ValueError, EOFError, TypeError):
        return None
    return table if isinstance(table, dict) else None
