"""Verbs of graphs against naive searches, rules and Python sets, on random graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from datalog.engine_helpers import derived
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.syntax.node_sets import parse_node_set
from planner.logic.graph import verbs
from planner.logic.graph.build import Names
from planner.logic.graph.verbs import SetEvaluation, Waiting, glob

NAMES = [f"n{i}" for i in range(7)]
Edges = set[tuple[str, str]]
few = settings(max_examples=examples(150))
nodes = st.sampled_from(NAMES)
some = st.sets(nodes, max_size=3)
graphs = st.sets(st.tuples(nodes, nodes), max_size=16)
acyclic = graphs.map(lambda edges: {(a, b) for a, b in edges if a < b})


def waiting(edges: Edges) -> Waiting:
    return Waiting(NAMES, edges)


def own_names(vertices: Iterable[str]) -> Names:
    """Every vertex is meant by its own name only."""
    names = {name: name for name in vertices}
    return Names(names, list(names.items()))


def naive(edges: Edges, starts: set[str]) -> dict[str, int]:
    """Breadth first, a whole layer at a time, looking at every edge."""
    found, depth = dict.fromkeys(starts, 0), 0
    while True:
        depth += 1
        layer = {b for a, b in edges if a in found} - found.keys()
        if not layer:
            return found
        found.update(dict.fromkeys(layer, depth))


def turned(edges: Edges) -> Edges:
    return {(b, a) for a, b in edges}


@few
@given(graphs, some, st.none() | st.integers(0, 4))
def test_searches(edges: Edges, starts: set[str], most: int | None) -> None:
    def within(found: dict[str, int]) -> set[str]:
        return {node for node, depth in found.items() if most is None or depth <= most}

    graph = waiting(edges)
    assert verbs.deps(graph, starts, most) == within(naive(edges, starts))
    assert verbs.rdeps(graph, starts, most) == within(naive(turned(edges), starts))
    assert verbs.blast(graph, starts) == naive(turned(edges), starts)


RULES = """
/// edge
.decl edge(a: symbol, b: symbol)
/// start
.decl start(a: symbol)
/// end
.decl end(a: symbol)
.input edge, start, end
/// deps
.decl deps(a: symbol)
deps(A) :- start(A).
deps(B) :- deps(A), edge(A, B).
/// rdeps
.decl rdeps(a: symbol)
rdeps(B) :- end(B).
rdeps(A) :- rdeps(B), edge(A, B).
/// between
.decl between(a: symbol)
between(N) :- deps(N), rdeps(N).
/// waits_for
.decl waits_for(a: symbol, b: symbol)
waits_for(A, B) :- edge(A, B).
waits_for(A, C) :- edge(A, B), waits_for(B, C).
.output between, waits_for
"""


@few
@given(graphs, some, some)
def test_the_rules_of_the_docstrings(edges: Edges, starts: set[str], ends: set[str]) -> None:
    facts: dict[str, Any] = {"edge": edges, "start": {(n,) for n in starts}, "end": {(n,) for n in ends}}
    meant, graph = derived(RULES, facts), waiting(edges)
    assert {(n,) for n in verbs.deps(graph, starts)} == meant["deps"]
    assert {(n,) for n in verbs.rdeps(graph, ends)} == meant["rdeps"]
    assert {(n,) for n in verbs.between(graph, starts, ends)} == meant["between"]
    pairs = meant["waits_for"]
    assert verbs.waits_for(graph, [(None, None)]) == pairs
    assert verbs.waits_for(graph, [(None, n) for n in ends]) == {(a, b) for a, b in pairs if b in ends}
    assert verbs.waits_for(graph, [(n, None) for n in starts]) == {(a, b) for a, b in pairs if a in starts}
    both = {(a, b) for a in starts for b in ends}
    assert verbs.waits_for(graph, both) == pairs & both


def every_path(edges: Edges, path: list[str], ends: set[str]) -> list[list[str]]:
    found = [path] if path[-1] in ends else []
    for a, b in edges:
        if a == path[-1] and b not in path:
            found += every_path(edges, [*path, b], ends)
    return found


@few
@given(st.one_of(graphs, acyclic), some, some)
def test_paths(edges: Edges, starts: set[str], ends: set[str]) -> None:
    graph = waiting(edges)
    wanted = sorted((p for n in starts for p in every_path(edges, [n], ends)), key=lambda p: (len(p), p))
    found = list(verbs.paths(graph, starts, ends))
    assert found == wanted
    assert verbs.shortest_path(graph, starts, ends) == (wanted[0] if wanted else [])
    assert {n for path in found for n in path} <= verbs.between(graph, starts, ends)
    if all(a < b for a, b in edges):
        assert verbs.count_paths(graph, starts, ends) == len(wanted)
        assert {n for path in found for n in path} == verbs.between(graph, starts, ends)


def test_paths_are_not_counted_where_there_is_a_cycle() -> None:
    assert verbs.count_paths(waiting({("n0", "n1"), ("n1", "n0"), ("n1", "n2")}), {"n0"}, {"n2"}) is None
    assert verbs.count_paths(waiting({("n3", "n4"), ("n4", "n3"), ("n1", "n2")}), {"n1"}, {"n2"}) == 1


def test_the_first_paths_come_at_once() -> None:
    """40 diamonds in a row have 2 ** 40 paths."""
    edges = {(f"j{i:02}", f"{s}{i:02}") for i in range(40) for s in "ab"}
    edges |= {(f"{s}{i:02}", f"j{i + 1:02}") for i in range(40) for s in "ab"}
    graph = Waiting({n for e in edges for n in e}, edges)
    found = [path for path, _ in zip(verbs.paths(graph, {"j00"}, {"j40"}), range(5), strict=False)]
    assert len({tuple(path) for path in found}) == 5
    assert found == sorted(found)
    assert verbs.count_paths(graph, {"j00"}, {"j40"}) == 2**40


# ---------------------------------------------------------------- expressions

expressions = st.recursive(
    nodes | st.just("n*") | st.just("n?"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-&"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(("deps", "rdeps", "blast")), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"allpaths({t[0]}, {t[1]})"),
    ),
    max_leaves=8,
)


@few
@given(graphs, expressions)
def test_expressions_are_python_sets(edges: Edges, text: str) -> None:
    class Vertices(frozenset[str]):
        """A set that also has +, as expressions do."""

        def __add__(self, other: Vertices) -> Vertices:
            return Vertices(self | other)

        def __sub__(self, other: Any) -> Vertices:
            return Vertices(frozenset.__sub__(self, other))

        def __and__(self, other: Any) -> Vertices:
            return Vertices(frozenset.__and__(self, other))

    def deps(start: Vertices) -> Vertices:
        return Vertices(naive(edges, set(start)))

    def rdeps(start: Vertices) -> Vertices:
        return Vertices(naive(turned(edges), set(start)))

    names: dict[str, Any] = {name: Vertices({name}) for name in NAMES}
    names.update(deps=deps, rdeps=rdeps, blast=rdeps, allpaths=lambda a, b: deps(a) & rdeps(b), every=Vertices(NAMES))
    wanted = eval(text.replace("n*", "every").replace("n?", "every"), names)
    sets = SetEvaluation(waiting(edges), own_names(NAMES))
    assert sets.of(parse_node_set(text)) == wanted
    assert not sets.problems


VERTICES = (
    "root",
    "data.d.x (expand)",
    "terraform_data.a (expand)",
    "module.net.terraform_data.a (expand)",
    "module.net.data.d.x (expand)",
    "module.net (close)",
    "module.net (expand)",
    'terraform_data.k["a*(b)"] (orphan)',
    'provider["x/y/z"]',
)
ADDRESSES = {name.partition(" (")[0]: name for name in VERTICES}
MEANT = Names(
    {**own_names(VERTICES).meant, **ADDRESSES}, [*own_names(VERTICES).texts, *((a, n) for a, n in ADDRESSES.items())]
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("terraform_data.a", ["terraform_data.a (expand)"]),
        ("module.net", ["module.net (expand)"]),
        ("module.net (close)", ["module.net (close)"]),
        ('"module.net (close)"', ["module.net (close)"]),
        ("module.net.*", ["module.net.data.d.x (expand)", "module.net.terraform_data.a (expand)"]),
        ("data.*", ["data.d.x (expand)"]),
        ("*.a", ["module.net.terraform_data.a (expand)", "terraform_data.a (expand)"]),
        ("* (close)", ["module.net (close)"]),
        ("r??t", ["root"]),
        ('terraform_data.k["a*(b)"]', ['terraform_data.k["a*(b)"] (orphan)']),
        ('*["a*(b)"]', ['terraform_data.k["a*(b)"] (orphan)']),
        ('*["a?(b)"]', []),
        ('provider["x/y/z"]', ['provider["x/y/z"]']),
        ("nothing.*", []),
    ],
)
def test_names(text: str, wanted: list[str]) -> None:
    sets = SetEvaluation(Waiting(VERTICES, set()), MEANT)
    assert sorted(sets.of(parse_node_set(text))) == wanted
    assert [p.code for p in sets.problems] == ([] if wanted else ["query.no_match"])


def test_a_name_that_no_vertex_has() -> None:
    with pytest.raises(Failure) as failure:
        SetEvaluation(Waiting(VERTICES, set()), MEANT).of(parse_node_set("deps(terraform_dta.a)"))
    (problem,) = failure.value.diagnostics
    assert 'Did you mean "terraform_data.a"?' in problem.detail
    assert problem.subject is not None and problem.subject.text == "terraform_dta.a"


def test_patterns() -> None:
    assert glob("a.b[0]") is None
    assert glob('a["*"]') is None
    pattern = glob("a.*[0]")
    assert pattern is not None and pattern.fullmatch("a.b[0]") and not pattern.fullmatch("axb[0]")
