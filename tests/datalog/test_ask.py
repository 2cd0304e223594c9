"""Ad hoc questions."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest
from engine_helpers import derived, shown

from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.ask import question as module
from planner.logic.datalog.ask.question import QueryResult, ask, is_goal_directed, parse_query
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.language.values import FALSE, TRUE, Fraction

RULES = """
/// edge
.decl edge(a: symbol, b: symbol)
/// value
.decl value(a: symbol, v: any)
/// done
.decl done()
.input edge, value, done
/// path
.decl path(a: symbol, b: symbol)
.output path
path(A, B) :- edge(A, B).
path(A, C) :- path(A, B), path(B, C).
"""
FACTS: dict[str, Any] = {
    "edge": [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")],
    "value": [("a", 1), ("a", True), ("a", 1.0), ("a", "1"), ("b", False), ("b", 0.1 + 0.2), ("b", 0.3)],
}


@pytest.fixture(scope="module")
def database() -> Database:
    return derived(RULES, FACTS)


def answered(database: Database, text: str, **more: Any) -> QueryResult:
    query, diagnostics = parse_query(database.program, text)
    assert query is not None, "\n".join(map(shown, diagnostics))
    return ask(database.program, database, query, **more)


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ('edge(A, "d")', ("A",), [("c",), ("d",)]),
        ('edge("a", B), edge(B, C)', ("B", "C"), [("b", "c")]),
        ('?- edge(A, "d"), A != "d".', ("A",), [("c",)]),
        ('edge(A, "d"), not edge("a", A)', ("A",), [("c",), ("d",)]),
        ('edge(A, "d"), not edge(_, A)', ("A",), []),
        ('edge("a", "b")', (), [()]),
        ('edge("a", "c")', (), []),
        ('not edge("a", "c")', (), [()]),
        ("done()", (), []),
        ("not done()", (), [()]),
        ('edge("a", _)', (), [()]),
        ('path("a", X), X > "b"', ("X",), [("c",), ("d",)]),
        ('edge("c", X), matches(X, "^[ab]$")', ("X",), [("a",)]),
        ('edge("c", X), not starts_with(X, "a")', ("X",), [("d",)]),
        ('edge("d", X), edge(X, X)', ("X",), [("d",)]),
        ("edge(A, B), A = B", ("A", "B"), [("d", "d")]),
        ("edge(A, A)", ("A",), [("d",)]),
        ("N = count : { edge(_, _) }", ("N",), [(5,)]),
        ("edge(A, _), N = count : { edge(A, B) }, N > 1", ("A", "N"), [("c", 2)]),
        ('edge("a", B), X = "a" ++ B', ("B", "X"), [("b", "ab")]),
        ('value("a", V)', ("V",), [(TRUE,), (1,), (Fraction(1.0),), ("1",)]),
        ("value(A, 1)", ("A",), [("a",)]),
        ("value(A, true)", ("A",), [("a",)]),
        ('value("b", V)', ("V",), [(FALSE,), (Fraction(0.3),), (Fraction(0.1 + 0.2),)]),
    ],
)
def test_answers(database: Database, text: str, columns: tuple[str, ...], rows: list[Any]) -> None:
    answer = answered(database, text)
    assert (answer.columns, answer.rows) == (columns, rows)
    assert bool(answer) == bool(rows)
    assert answered(database, text, seconds=20) == answer
    query, _ = parse_query(database.program, text)
    assert query is not None
    assert module._bottom_up(database.program, database, query) == set(rows)


@pytest.mark.parametrize(
    ("text", "goal_directed"),
    [
        ('edge("a", B), edge(B, C)', True),
        ('edge(B, C), edge("a", B)', True),
        ("edge(A, B)", False),
        ('edge("a", B), edge(C, D)', False),
        ('edge("a", B), N = count : { edge(B, _) }', False),
        ('edge("a", B), starts_with(B ++ "x", "b")', False),
    ],
)
def test_who_answers(database: Database, text: str, goal_directed: bool) -> None:
    query, _ = parse_query(database.program, text)
    assert query is not None
    assert is_goal_directed(query) == goal_directed


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("egde(A, B)", "rules.unknown_predicate"),
        ("edge(A)", "rules.arity"),
        ("edge(A, B), not edge(B, C)", "rules.unsafe_variable"),
        ("A != B", "rules.unsafe_variable"),
        ("edge(A, 5)", "rules.type"),
        ("edge(A, B", "rules.syntax"),
        ("", "rules.syntax"),
        ("edge(A, B) :- edge(B, A).", "rules.syntax"),
        ('edge(A, B), matches(A, "(")', "rules.pattern"),
        ("edge(A, B), X = lenght(A)", "rules.function"),
    ],
)
def test_mistakes(database: Database, text: str, code: str) -> None:
    query, diagnostics = parse_query(database.program, text)
    assert query is None
    assert code in [d.code for d in diagnostics]
    assert all(d.subject is not None for d in diagnostics)


def test_a_predicate_that_was_not_evaluated() -> None:
    partial = derived(RULES, FACTS, want=["edge"])
    with pytest.raises(KeyError):
        answered(partial, "path(A, B)")


def test_questions_from_other_threads(database: Database) -> None:
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(answered(database, 'edge("a", B), edge(B, C)').rows))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[("b", "c")]] * 4


def test_the_time_limit_ends_a_question() -> None:
    big = derived(
        RULES.replace("path(A, C)", "path(A, A)").replace("path(B, C)", "path(B, A)"),
        {
            "edge": [(f"a{i}", f"b{i}") for i in range(3000)],
        },
    )
    with pytest.raises(Failure) as failure:
        answered(big, "edge(A, B), edge(C, D), edge(E, F)", seconds=0.3)
    assert failure.value.diagnostics[0].code == "query.time"
    hub = derived(RULES, {"edge": [(x, y) for i in range(400) for x, y in (("h", f"n{i}"), (f"n{i}", "h"))]}, ["edge"])
    with pytest.raises(Failure) as failure:
        answered(hub, 'edge("h", A), edge(A, B), edge(B, C), edge(C, D), edge(D, E)', seconds=0.3)
    assert failure.value.diagnostics[0].code == "query.time"


@pytest.mark.slow
def test_the_memory_limit_ends_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyDatalog does with memory is up to it: no answer is ever half an answer."""
    from planner.logic.datalog.ask import limit

    monkeypatch.setattr(limit, "MAX_MEMORY", 40 << 20)
    hub = derived(RULES, {"edge": [(x, y) for i in range(400) for x, y in (("h", f"n{i}"), (f"n{i}", "h"))]}, ["edge"])
    with pytest.raises(Failure) as failure:
        answered(hub, 'edge("h", A), edge(A, B), edge(B, C), edge(C, D), edge(D, E)', seconds=60)
    assert failure.value.diagnostics[0].code == "query.memory"


def test_pydatalog_is_imported_only_then() -> None:
    code = """
import sys
sys.path.insert(0, {path!r})
from test_ask import RULES, FACTS, answered, derived
database = derived(RULES, FACTS)
answered(database, "edge(A, B)")
assert "pyDatalog" not in sys.modules
answered(database, 'edge("a", B)')
assert "pyDatalog" in sys.modules
from pyDatalog import pyEngine
assert not pyEngine.Python_resolvers
"""
    path = __file__.rpartition("/")[0]
    subprocess.run([sys.executable, "-c", code.format(path=path)], check=True)
