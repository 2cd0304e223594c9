"""What is to be removed so that a graph has no cycle: against all sets there are, and on configurations."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.logic.graph.cycles import Cut, Edge, Statement, shortest_cycle, smallest_cut

NAMES = "abcdef"


def has_cycle(edges: Collection[Edge]) -> bool:
    left = set(edges)
    while True:
        waiting = {a for a, _ in left}
        kept = {(a, b) for a, b in left if b in waiting}
        if kept == left:
            return bool(left)
        left = kept


def graphs() -> st.SearchStrategy[dict[Edge, int]]:
    """Edges, each with the number of its statement; 0 for an edge that nobody owns."""
    pairs = st.sampled_from([(a, b) for a in NAMES for b in NAMES if a != b])
    return st.dictionaries(pairs, st.integers(0, 6), max_size=14)


def statement(number: int) -> Statement:
    return (f"s{number}", ("t",))


@settings(max_examples=examples(300))
@given(graphs())
def test_smallest_among_all_sets(graph: dict[Edge, int]) -> None:
    edges = {a: [b for b in NAMES if (a, b) in graph] for a in NAMES}
    owned = {edge: statement(n) for edge, n in graph.items() if n}
    found = smallest_cut(edges, NAMES, owned)
    if has_cycle([edge for edge, n in graph.items() if not n]):
        assert found.stuck and not found.statements
        assert all((a, b) in graph for a, b in itertools.pairwise((*found.stuck, found.stuck[0])))
        return
    numbers = sorted({n for n in graph.values() if n})
    sizes = (
        size
        for size in range(len(numbers) + 1)
        for gone in itertools.combinations(numbers, size)
        if not has_cycle([edge for edge, n in graph.items() if n not in gone])
    )
    assert found.is_exact
    assert len(found.statements) == next(sizes)
    single = {n for n in numbers if not has_cycle([edge for edge, of in graph.items() if of != n])}
    assert {*found.alternatives} == (set(map(statement, single)) if len(found.statements) == 1 else set())
    assert not has_cycle([edge for edge, n in graph.items() if statement(n) not in found.statements])


@settings(max_examples=examples(200))
@given(graphs())
def test_shortest_cycle(graph: dict[Edge, int]) -> None:
    edges = {a: [b for b in NAMES if (a, b) in graph] for a in NAMES}
    found = shortest_cycle(edges)
    assert bool(found) == has_cycle(graph)
    lengths = {
        len(path)
        for size in range(2, len(NAMES) + 1)
        for path in itertools.permutations(NAMES, size)
        if all(pair in graph for pair in itertools.pairwise((*path, path[0])))
    }
    assert len(found) == min(lengths, default=0)
    assert all(pair in graph for pair in itertools.pairwise((*found, *found[:1])))


@pytest.mark.slow
def test_a_large_knot_is_cut_greedily() -> None:
    size = 60
    edges = {f"n{i:02}": [f"n{(i * j + j) % size:02}" for j in (1, 2, 3, 5, 7, 11, 13)] for i in range(size)}
    edges = {a: sorted(set(bs) - {a}) for a, bs in edges.items()}
    owned = {(a, b): (a, (b,)) for a, bs in edges.items() for b in bs}
    found = smallest_cut(edges, edges, owned)
    left = [edge for edge in owned if owned[edge] not in found.statements]
    assert not found.is_exact
    assert not has_cycle(left)
    for one in found.statements:  # none is superfluous
        assert has_cycle([*left, *(edge for edge in owned if owned[edge] == one)])


def test_no_cycle_no_cut() -> None:
    assert smallest_cut({"a": ["b"], "b": []}, ["a", "b"], {}) == Cut()


# ---------------------------------------------------------------- configurations


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


KNOT = """locals {
  a = local.b
  b = "${local.c}-${local.d}"
  c = local.a
  d = local.a
}
"""


def test_the_diagnostic_explains_every_edge(work: Path) -> None:
    from planner.operations.options import Options
    from planner.operations.validate import validate

    (work / "main.tf").write_text(KNOT, encoding="utf-8")
    (problem,) = validate(Options())
    assert problem.summary == "Cycle: local.a (expand), local.b (expand), local.c (expand)"
    assert (
        problem.detail
        == """Each of these depends on the next, and the last one on the first:
  local.a needs local.b (main.tf:2: a = local.b)
  local.b needs local.c (main.tf:3: b = "${local.c}-${local.d}")
  local.c needs local.a (main.tf:4: c = local.a)
1 more is in the same group of cycles (to see the proof: planner cycles).
To break it, remove the reference from local.a to local.b (main.tf:2: a = local.b)."""
    )


def test_cut_of_a_plan_graph(work: Path) -> None:
    from planner.operations.graph import cut
    from planner.operations.options import OperationOptions

    (work / "main.tf").write_text(
        """resource "terraform_data" "x" {
  input      = terraform_data.y.id
  depends_on = [terraform_data.z]
}
resource "terraform_data" "y" { input = terraform_data.x.id }
resource "terraform_data" "z" { input = "${terraform_data.x.id}${terraform_data.y.id}" }
locals { p = local.q, }
""".replace("locals { p = local.q, }", "locals {\n  p = local.q\n  q = local.p\n}"),
        encoding="utf-8",
    )
    found, _ = cut(OperationOptions())
    assert found is not None
    assert [(k.cycle, k.size, len(k.removals)) for k in found] == [
        (("local.p (expand)", "local.q (expand)"), 2, 1),
        (("terraform_data.x (expand)", "terraform_data.y (expand)"), 3, 2),
    ]
    assert [(r.object, r.targets, r.paths, r.sources[0]["line"]) for r in found[1].removals] == [
        ("terraform_data.x", ("terraform_data.y",), ("input",), 2),
        ("terraform_data.x", ("terraform_data.z",), ("depends_on",), 3),
    ]


def test_a_cycle_of_the_apply_graph_alone(work: Path) -> None:
    """b is replaced create-first by its state although what depends on it is not: only planning finds that."""
    from planner.engine.walk.hooks import Hooks
    from planner.operations.graph import cut
    from planner.operations.options import OperationOptions
    from planner.operations.plan import plan

    write_apply_cycle(work)
    planned = plan(OperationOptions(lock=False), Hooks())
    assert planned.plan is not None and not planned.plan.errored  # what is planned is right, but cannot be done
    (problem,) = [d for d in planned.diagnostics if d.is_error]
    assert problem.code == "graph.cycle" and "(destroy)" in problem.summary
    found, _ = cut(OperationOptions())
    assert found is not None
    (knot,) = found
    assert knot.size >= len(knot.edges) >= 2
    rules = {edge.rule for edge in knot.edges}
    assert any("destroy_order" in rule or "replacement_order" in rule for rule in rules)
    assert knot.removals or knot.cut.stuck


def write_apply_cycle(work: Path) -> None:
    (work / "main.tf").write_text("", encoding="utf-8")

    def entry(name: str, dependencies: list[str]) -> dict[str, object]:
        attributes = {"id": name, "input": None, "output": None, "triggers_replace": None}
        instance = {"schema_version": 0, "attributes": attributes, "dependencies": dependencies}
        return {
            "mode": "managed",
            "type": "terraform_data",
            "name": name,
            "provider": 'provider["terraform.io/builtin/terraform"]',
            "instances": [instance],
        }

    state = {
        "version": 4,
        "terraform_version": "1.12.6",
        "serial": 1,
        "lineage": "x",
        "outputs": {},
        "resources": [entry("a", ["terraform_data.b"]), entry("b", ["terraform_data.a"])],
        "check_results": None,
    }
    (work / "terraform.tfstate").write_text(json.dumps(state), encoding="utf-8")


@pytest.mark.parametrize(
    ("edit", "advice"),
    [
        (
            "c = local.a",
            ["To break it, remove the reference from local.c to local.a (main.tf:4: c = local.a), which was "],
        ),
        (
            "",
            ["To break it, remove one of these:", "  - the reference from local.a to local.b (main.tf:2: a = local.b)"],
        ),
    ],
)
def test_the_edited_reference_is_named(edit: str, advice: list[str], work: Path, planner) -> None:
    """Of removals that are each enough, the one in a line that the last commit does not have."""
    text = "locals {\n  a = local.b\n  b = local.c\n  c = local.a\n}\n"
    (work / "main.tf").write_text(text.replace(edit, "c = 1") if edit else text, encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "main.tf"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=work, check=True)
    (work / "main.tf").write_text(text, encoding="utf-8")
    lines = planner("cycles").out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("To break it"))
    for line, expected in zip(lines[start:], advice, strict=False):
        assert line.startswith(expected)
    errors = " ".join(planner("plan").err.split())
    assert ("edited since the last commit" in errors) == bool(edit)
