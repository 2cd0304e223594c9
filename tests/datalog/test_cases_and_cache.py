"""Cases written in the rule language; compiled programs in the cache."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from engine_helpers import program, shown

from planner.logic.datalog.engine import compile
from planner.logic.datalog.engine.cache import load_program
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.language.model import Predicate
from planner.logic.datalog.tools.cases import load_cases, run_case

RULES = """
/// edge
.decl edge(a: symbol, b: symbol)
.input edge
/// size
.decl size(a: symbol, n: number)
.input size
/// path
.decl path(a: symbol, b: symbol)
.output path
@reason("{A} to {B}")
path(A, B) :- edge(A, B).
path(A, C) :- path(A, B), edge(B, C).
"""


def test_cases() -> None:
    text = """
    edge("a", "b").                       // in every case
    .case "direct"
    .want path("a", "b").
    .case "over one"
    edge("b", "c").
    .want path("a", "b"), path("b", "c").
    .want path("a", "c").
    .case "given where rules derive"
    path("x", "a").
    .want path("x", "a"), path("x", "b"), path("a", "b").
    .case "wrong"
    .want path("b", "a"), path("a", "b").
    .want none edge.
    """
    loaded = program(RULES)
    cases, diagnostics = load_cases(loaded, "path.case", text)
    assert diagnostics == []
    assert [c.name for c in cases] == ["direct", "over one", "given where rules derive", "wrong"]
    assert [run_case(loaded, case) for case in cases[:3]] == [[], [], []]
    path, edge = sorted(run_case(loaded, cases[3]), key=lambda m: m.predicate, reverse=True)
    assert (path.predicate, path.missing, path.unexpected) == ("path", (("b", "a"),), ())
    assert (edge.predicate, edge.missing, edge.unexpected) == ("edge", (), (("a", "b"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('.case "x"', "Case without a .want (f.case:1:1)"),
        ('.case "x" .want edgy("a").', "Did you mean edge("),
        ('.case "x" .want none edgy.', "Did you mean edge("),
        ('.case "x" .want none edge. edge("a").', "The predicate is declared as edge(a: symbol, b: symbol)."),
        ('.case "x" .want none edge. edge("a", X).', "X is not one"),
        ('.case "x" .want none edge. size("a", "1").', 'size.n is a number, but "1" is not one.'),
        ('.want edge("a", "b").', "Statement not allowed in a case"),
        ('.case "x" .want none edge. edge("a", "b") :- edge("b", "a").', "no rules"),
        ('.case "x" .want nothing edge.', "the word none, not nothing"),
    ],
)
def test_mistakes_in_cases(text: str, message: str) -> None:
    _cases, diagnostics = load_cases(program(RULES), "f.case", text)
    assert any(message in shown(d) for d in diagnostics), list(map(shown, diagnostics))


def test_words_that_nothing_has() -> None:
    rules = "/// act(a, kind): what.\n///   kind  create or delete\n.decl act(a: symbol, kind: symbol)\n.input act\n"
    rules += '/// gone(a): x\n.decl gone(a: symbol)\n.output gone\ngone(A) :- act(A, "delete").\n'
    cases, problems = load_cases(program(rules), "x.case", '.case "x"\nact("a", "destroy").\n.want none gone.\n')
    assert [(d.code, d.severity) for d in problems] == [("rules.unknown_word", "warning")] and len(cases) == 1
    assert 'No row of act has "destroy" as its kind. Possible values: create, delete.' in problems[0].detail


@pytest.mark.parametrize(
    "body",
    [
        'act(A, "destroy")',
        'act(A, _), not act(A, "destroy")',
        'act(A, X), X in ["delete", "destroy"]',
        'act(A, X), X not in ["delete", "destroy"]',
        'act(A, X), X != "destroy"',
        'act(A, X), (X = "destroy" ; X = "delete")',
        'act(A, X), act(A, _), (act(A, "create") ; act(A, "delete")), X = "destroy"',
    ],
)
def test_words_that_nothing_has_in_rules(body: str) -> None:
    rules = "/// act(a, kind): what.\n///   kind  create or delete\n.decl act(a: symbol, kind: symbol)\n.input act\n"
    rules += f"/// gone(a): x\n.decl gone(a: symbol)\n.output gone\ngone(A) :- {body}.\n"
    _, problems = load_program([("x.dl", rules)])
    assert [d.code for d in problems] == ["rules.unknown_word"]
    assert 'No row of act has "destroy" as its kind. Possible values: create, delete.' in problems[0].detail
    assert load_program([("x.dl", rules.replace("destroy", "create"))])[1] == []


def test_rules_and_cases_do_not_mix() -> None:
    loaded, diagnostics = load_program([("x.dl", RULES + '.case "x"\n.want none edge.')])
    assert loaded is None
    assert {d.summary for d in diagnostics} == {"Case in a rule file"}


# ---------------------------------------------------------------- cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "planner" / "programs"


FILES = [("graph/paths.dl", RULES + "/// unread\n.decl unread(a: symbol)\nunread(A) :- edge(A, B).\n")]


def test_a_cached_program_is_the_program(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, first_diagnostics = load_program(FILES)
    assert len(list(cache.glob("*"))) == 1
    monkeypatch.setattr(compile, "build_program", None)  # from here on only the cache can answer
    second, second_diagnostics = load_program(FILES)
    assert first is not None
    assert second is not None
    assert list(map(shown, second_diagnostics)) == list(map(shown, first_diagnostics))
    assert second_diagnostics
    assert second.predicates == first.predicates
    assert [str(p.span) for p in second.predicates.values()] == [str(p.span) for p in first.predicates.values()]
    assert [(r.name, r.text, r.file, r.line, r.reason) for r in second.rules] == [
        (r.name, r.text, r.file, r.line, r.reason) for r in first.rules
    ]
    facts = FactBase.build({"edge": [("a", "b"), ("b", "c")]})
    database = evaluate(second, facts)
    assert database["path"] == evaluate(first, facts)["path"]
    proof = Prover(second, database).why("path", ("a", "c"))
    assert proof is not None
    assert proof.height == 2


def test_a_program_from_the_cache_is_freed(cache: Path) -> None:
    files = [("freed.dl", "/// read once\n.decl freed_once(a: symbol)\n.input freed_once\n")]
    for _ in range(3):
        loaded, _ = load_program(files)
        assert loaded is not None
        assert loaded.rules == []
        del loaded
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, Predicate) and one.name == "freed_once"] == []


def test_another_text_another_program(cache: Path) -> None:
    load_program(FILES)
    load_program([(FILES[0][0], FILES[0][1] + "// more\n")])
    load_program([("other.dl", FILES[0][1])])
    load_program(FILES, core=set())
    assert len(list(cache.glob("*"))) == 4


def test_a_damaged_cache_is_made_again(cache: Path) -> None:
    load_program(FILES)
    (path,) = cache.glob("*")
    good = path.read_bytes()
    for damaged in (b"", b"rubbish", good[:100], good[:-50]):
        path.write_bytes(damaged)
        loaded, _ = load_program(FILES)
        assert loaded is not None
        assert evaluate(loaded, FactBase.build({"edge": [("a", "b")]}))["path"] == {("a", "b")}
        assert loaded.rules[0].text == "path(A, B) :- edge(A, B)."


def test_mistakes_are_not_cached(cache: Path) -> None:
    loaded, diagnostics = load_program([("x.dl", "p(A).")])
    assert loaded is None
    assert diagnostics
    assert list(cache.glob("*")) == []


def test_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    loaded, _ = load_program(FILES)
    assert loaded is not None
