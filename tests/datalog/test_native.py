"""Native operators equal the rules that say what they mean, on small graphs of every shape."""

from __future__ import annotations

from random import Random

import pytest
from engine_helpers import derived

from planner.logic.datalog.engine import native
from planner.logic.datalog.language.link import OPERATORS
from planner.logic.datalog.language.values import TRUE, Fraction


def test_every_operator_that_is_declared_has_a_function() -> None:
    assert native.OPERATORS.keys() == OPERATORS.keys()


RULES = """
/// edge
.decl edge(a: number, b: number)
/// start
.decl start(a: number)
.input edge, start
/// node
.decl node(a: number)
node(A) :- edge(A, _).
node(A) :- edge(_, A).
/// path
.decl path(a: number, b: number)
path(A, B) :- edge(A, B).
path(A, C) :- edge(A, B), path(B, C).

/// implied
.decl implied(a: number, b: number)
implied(A, C) :- edge(A, C), path(A, B), path(B, C), not path(B, A), not path(C, B).
/// reduced
.decl reduced(a: number, b: number)
reduced(A, B) :- edge(A, B), not implied(A, B).

/// reached
.decl reached(a: number)
reached(A) :- start(A).
reached(B) :- reached(A), edge(A, B).

/// together
.decl together(a: number, b: number)
together(A, B) :- path(A, B), path(B, A).
/// representative
.decl representative(a: number, b: number)
representative(A, R) :- together(A, A), R = min B : { together(A, B) }.

/// labelled
.decl labelled(a: number, label: symbol)
.input labelled
/// lies_behind
.decl lies_behind(a: number, label: symbol)
lies_behind(A, L) :- path(A, B), labelled(B, L), not labelled(A, L).
/// lies_behind_start
.decl lies_behind_start(a: number, label: symbol)
lies_behind_start(A, L) :- start(A), lies_behind(A, L).
.output path, reduced, reached, representative, node, lies_behind, lies_behind_start

/// n_reduced
.native n_reduced(a: number, b: number) = reduction(edge)
/// n_path
.native n_path(a: number, b: number) = closure(edge)
/// n_reached
.native n_reached(a: number) = reachable(edge, start)
/// n_representative
.native n_representative(a: number, b: number) = scc(edge)
/// n_level
.native n_level(a: number, n: number) = levels(edge)
/// n_behind
.native n_behind(a: number, label: symbol) = reachable_labels(edge, labelled)
/// n_behind_start
.native n_behind_start(a: number, label: symbol) = labels_behind(edge, labelled, start)
.output n_reduced, n_path, n_reached, n_representative, n_level, n_behind, n_behind_start
"""


@pytest.mark.parametrize("seed", range(120))
def test_operators_equal_their_rules(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 9)
    acyclic = random.random() < 0.5
    edges = {(random.randrange(size), random.randrange(size)) for _ in range(random.randint(0, 2 * size))}
    if acyclic:
        edges = {(a, b) for a, b in edges if a > b}
    starts = {(random.randrange(size),) for _ in range(random.randint(0, 2))}
    labels = {(random.randrange(size), random.choice("xyz")) for _ in range(random.randint(0, size))}
    database = derived(RULES, {"edge": edges, "start": starts, "labelled": labels})
    assert database["n_behind"] == database["lies_behind"]
    assert len(database["n_behind"]) == len(database["lies_behind"])
    assert all(row in database["n_behind"] for row in database["lies_behind"])
    assert database["n_behind_start"] == database["lies_behind_start"]
    assert database["n_reduced"] == database["reduced"]
    assert database["n_path"] == database["path"]
    assert database["n_reached"] == database["reached"]
    assert database["n_representative"] == database["representative"]
    levels = dict(database["n_level"])
    assert {(a,) for a in levels} == database["node"]
    for a, level in levels.items():
        below = [levels[b] for x, b in edges if x == a and (b, a) not in database["path"]]
        same = [levels[b] for x, b in database["path"] if x == a and (b, a) in database["path"]]
        assert all(level > other for other in below)
        assert all(level == other for other in same)
        if acyclic:
            assert level == max((other + 1 for other in below), default=0)


@pytest.mark.parametrize("seed", range(60))
def test_reduction_in_blocks_and_with_hubs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What large graphs need, on small ones: some blocks of nodes, and nodes with edges to nearly all others."""
    random = Random(seed)
    for name, value in (("_BLOCK", random.randint(2, 5)), ("_MANY", random.randint(1, 3)), ("_MOST_HUBS", 2)):
        monkeypatch.setattr(native, name, value)
    size = random.randint(6, 16)
    edges = {(a, b) for a in range(size) for b in range(a) if random.random() < random.choice((0.2, 0.5))}
    edges |= {(size, b) for b in range(size) if random.random() < 0.8}
    assert set(native.reduction(edges, {})) == derived(RULES, {"edge": edges}, ["reduced"])["reduced"]


def test_reduction_leaves_cycles_alone() -> None:
    cycle = {(1, 2), (2, 3), (3, 1), (1, 3)}
    database = derived(RULES, {"edge": cycle | {(0, 1), (0, 2), (0, 4), (3, 4)}})
    assert database["n_reduced"] == cycle | {(0, 1), (0, 2), (3, 4)}


def test_a_long_chain() -> None:
    edges = {(i, i + 1) for i in range(5000)} | {(i, i + 2) for i in range(4999)}
    rules = RULES.split("/// path")[0] + "/// r\n.native r(a: number, b: number) = reduction(edge)\n.output r, node\n"
    assert derived(rules, {"edge": edges})["r"] == {(i, i + 1) for i in range(5000)}


@pytest.mark.parametrize("seed", range(120))
def test_closing_takes_one_row_after_the_other(seed: int) -> None:
    random = Random(seed)
    size = random.randint(2, 8)
    pairs = [(a, b) for a in range(size) for b in range(size)]
    edges = {(a, b) for a, b in pairs if a > b and random.random() < 0.3}
    if random.random() < 0.2:
        edges |= set(random.sample(pairs, 2))  # what is given may have cycles of its own
    wished = set(random.sample(pairs, random.randint(0, size)))
    standing, closing = set(edges), set()
    for a, b in sorted(wished):
        if a == b or (b, a) in native.closure(standing, {}):
            closing.add((a, b))
        else:
            standing.add((a, b))
    assert set(native.closing(edges, wished, {})) == closing


TEXTS = {
    "text": [
        ("a", "p", '{"S\\u0074atement": [{"Effect": "Allow", "n": 1.50, "none": null, "a.b": true}], "n": 1, "n": 2}'),
        ("b", "p", '["x", []]'),
        ("c", "p", '{"broken": '),
        ("d", "p", "[not JSON"),
        ("e", "p", "plain"),
        ("f", "p", 7),
    ]
}
JSON_RULES = """
/// text
.decl text(a: symbol, p: symbol, t: any)
.input text
/// value
.native value(a: symbol, p: symbol, i: symbol, v: any) = json_values(text)
/// part
.native part(a: symbol, p: symbol, i: symbol, k: any, j: symbol) = json_parts(text)
.output value, part
"""


def test_what_stands_in_texts_that_are_json() -> None:
    database = derived(JSON_RULES, TEXTS)
    assert database["value"] == {
        ("a", "p", "Statement[0].Effect", "Allow"),
        ("a", "p", "Statement[0].n", Fraction("1.5")),
        ("a", "p", 'Statement[0]["a.b"]', TRUE),
        ("a", "p", "n", 1),
        ("a", "p", "n", 2),
        ("b", "p", "[0]", "x"),
    }
    assert {row[2:] for row in database["part"] if row[0] == "a"} == {
        ("", "Statement", "Statement"),
        ("", "n", "n"),
        ("Statement", 0, "Statement[0]"),
        ("Statement[0]", "Effect", "Statement[0].Effect"),
        ("Statement[0]", "n", "Statement[0].n"),
        ("Statement[0]", "none", "Statement[0].none"),
        ("Statement[0]", "a.b", 'Statement[0]["a.b"]'),
    }
    assert {row[2:] for row in database["part"] if row[0] == "b"} == {("", 0, "[0]"), ("", 1, "[1]")}
