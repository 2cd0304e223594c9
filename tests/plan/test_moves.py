"""Moving objects of the state: through statements and chains, in modules, and where somebody is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.planning import plan_folder, recorded, write_files, write_state

from planner.engine.plan.moves import MoveResults, apply_moves
from planner.language.config.load import load_config
from planner.language.config.module_installer import install_modules
from planner.world.state.file import read_state

MODULE = 'variable "x" {\n  default = 1\n}\nresource "terraform_data" "r" {}\nresource "terraform_data" "s" {}\n'


def moves(tmp_path: Path, text: str, *addresses: str, module: str = MODULE) -> MoveResults:
    write_files(tmp_path, {"main.tf": text, "m/main.tf": module})
    write_state(tmp_path, *map(recorded, addresses))
    install_modules(str(tmp_path), variables={})
    config, problems = load_config(str(tmp_path), variables={})
    assert config is not None, problems
    state, _ = read_state((tmp_path / "terraform.tfstate").read_bytes(), "terraform.tfstate")
    assert state is not None
    return apply_moves(config, state)


def moved(*pairs: tuple[str, str]) -> str:
    return "\n".join(f"moved {{\n  from = {a}\n  to   = {b}\n}}" for a, b in pairs)


def origins(results: MoveResults) -> dict[str, str]:
    return {to: move.origin for to, move in results.moves.items()}


@pytest.mark.parametrize(
    ("statements", "before", "after"),
    [
        ([("terraform_data.a", "terraform_data.b")], "a", "b"),
        ([("terraform_data.a", "terraform_data.b")], "a[1]", "b[1]"),
        ([("terraform_data.a[0]", "terraform_data.b")], "a[0]", "b"),
        ([("terraform_data.a", 'terraform_data.b["k"]')], "a", 'b["k"]'),
        ([("terraform_data.b", "terraform_data.c"), ("terraform_data.a", "terraform_data.b")], "a", "c"),
        ([("terraform_data.a", "module.m.terraform_data.r")], "a", "module.m.r"),
        ([("module.old", "module.m")], "module.old.r", "module.m.r"),
        ([("module.old", "module.m")], "module.old[2].r", "module.m[2].r"),
        ([("module.old", 'module.m["k"]')], "module.old.r", 'module.m["k"].r'),
        (
            [("module.old", "module.m"), ("module.old.terraform_data.q", "module.old.terraform_data.r")],
            "module.old.q",
            "module.m.r",
        ),
        (
            [("module.old", "module.m"), ("module.m.terraform_data.q", "module.m.terraform_data.r")],
            "module.old.q",
            "module.m.r",
        ),
    ],
)
def test_where_an_object_goes(tmp_path: Path, statements: list[tuple[str, str]], before: str, after: str) -> None:
    text = moved(*statements) + '\nmodule "m" {\n  source = "./m"\n}\n'
    results = moves(tmp_path, text, before)

    def full(address: str) -> str:
        module, dot, name = address.rpartition(".") if address.startswith("module.") else ("", "", address)
        return f"{module}{dot}terraform_data.{name}"

    assert origins(results) == {full(after): full(before)}
    assert [f"{r.address}{''.join(map(str, r.instances))}" for r in results.state.resources.values()] != []


def test_statements_in_a_module_apply_to_each_of_its_instances(tmp_path: Path) -> None:
    module = MODULE + moved(("terraform_data.q", "terraform_data.r"))
    text = 'module "m" {\n  source = "./m"\n  count = 2\n}\n'
    results = moves(tmp_path, text, "module.m[0].q", "module.m[1].q", "q", module=module)
    assert origins(results) == {
        "module.m[0].terraform_data.r": "module.m[0].terraform_data.q",
        "module.m[1].terraform_data.r": "module.m[1].terraform_data.q",
    }


def test_a_taken_place_blocks_the_move(tmp_path: Path) -> None:
    text = moved(("terraform_data.a", "terraform_data.b"))
    results = moves(tmp_path, text, "a", "b")
    assert results.moves == {}
    assert results.blocked == (("terraform_data.a", "terraform_data.b"),)


def test_objects_in_a_chain_do_not_swap(tmp_path: Path) -> None:
    text = moved(("terraform_data.a", "terraform_data.b"), ("terraform_data.b", "terraform_data.c"))
    results = moves(tmp_path, text, "a", "b")
    assert origins(results) == {"terraform_data.c": "terraform_data.b"}
    assert results.blocked == (("terraform_data.a", "terraform_data.b"),)


def test_a_circle_moves_nothing(tmp_path: Path) -> None:
    text = moved(("terraform_data.a", "terraform_data.b"), ("terraform_data.b", "terraform_data.a"))
    results = moves(tmp_path, text, "a")
    assert results.moves == {}
    assert len(results.cycles) == 1


@pytest.mark.parametrize(
    ("block", "before", "after"),
    [
        ("count = 2", "a", "terraform_data.a[0]"),
        ("", "a[0]", "terraform_data.a"),
        ("lifecycle {\n enabled = true\n}", "a[0]", "terraform_data.a"),
        ('for_each = toset(["x"])', "a[0]", None),
    ],
)
def test_moves_that_count_implies(tmp_path: Path, block: str, before: str, after: str | None) -> None:
    results = moves(tmp_path, f'resource "terraform_data" "a" {{\n{block}\n}}\n', before)
    assert list(results.moves) == ([after] if after else [])
    assert all(move.implied for move in results.moves.values())


def test_a_moved_block_overrules_what_count_implies(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "a" {\n  count = 2\n}\n' + moved(("terraform_data.a", "terraform_data.a[1]"))
    assert list(moves(tmp_path, text, "a").moves) == ["terraform_data.a[1]"]


def test_modules_may_gain_and_lose_count(tmp_path: Path) -> None:
    text = 'module "m" {\n  source = "./m"\n%s}\n'
    assert list(moves(tmp_path, text % "  count = 1\n", "module.m.r").moves) == ["module.m[0].terraform_data.r"]
    assert list(moves(tmp_path, text % "", "module.m[0].r").moves) == ["module.m.terraform_data.r"]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (moved(("terraform_data.a", "terraform_data.a")), ["Redundant move statement"]),
        (moved(("terraform_data.x", "terraform_data.y")), ["Moved object still exists"]),
        (
            moved(("terraform_data.a", "terraform_data.b"), ("terraform_data.a", "terraform_data.c")),
            ["Ambiguous move statements"],
        ),
        (
            moved(("terraform_data.a", "terraform_data.c"), ("terraform_data.b", "terraform_data.c")),
            ["Ambiguous move statements"],
        ),
        (
            moved(("terraform_data.a", "terraform_data.b"), ("terraform_data.b", "terraform_data.a")),
            ["Cyclic dependency in move statements"],
        ),
    ],
)
def test_statements_that_make_no_sense(tmp_path: Path, text: str, titles: list[str]) -> None:
    write_files(tmp_path, {"main.tf": text + '\nresource "terraform_data" "x" {}\n'})
    outcome = plan_folder(tmp_path)
    assert [d.summary for d in outcome.diagnostics] == titles
    assert outcome.plan is None


def test_a_cycle_names_its_statements(tmp_path: Path) -> None:
    """The addresses are those of the blocks, relative to the module that declares them."""
    blocks = moved(("terraform_data.a", 'terraform_data.b["x"]'), ('terraform_data.b["x"]', "terraform_data.a"))
    write_files(
        tmp_path, {"main.tf": 'module "m" {\n  source   = "./m"\n  for_each = toset(["k"])\n}\n', "m/m.tf": blocks}
    )
    (problem,) = plan_folder(tmp_path).diagnostics
    assert problem.detail is not None
    assert 'm/m.tf:1,1: terraform_data.a to terraform_data.b["x"]\n' in problem.detail
    assert ': terraform_data.b["x"] to terraform_data.a\n' in problem.detail


def test_a_move_shows_in_the_plan(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "b" {}\n' + moved(("terraform_data.a", "terraform_data.b"))
    write_files(tmp_path, {"main.tf": text})
    write_state(tmp_path, recorded("a"))
    outcome = plan_folder(tmp_path)
    change = outcome.change("terraform_data.b")
    assert (change.action, change.previous_address) == ("no-op", "terraform_data.a")
    assert outcome.plan is not None
    assert [(c.address, c.action) for c in outcome.plan.drift] == [("terraform_data.b", "no-op")]
    assert not outcome.plan.is_empty
