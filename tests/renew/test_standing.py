"""Plans one after the other: what is said of one that was planned in part is what is said of one planned as a whole."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import random_edits
import random_modules
from cli.conftest import Ran, make_terminal
from random_tests import examples

from planner.engine.walk.hooks import Hooks
from planner.operations.apply import apply
from planner.operations.explanations import causes
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan, plan, release
from planner.operations.plan_files import open_or_make_plan
from planner.operations.what_if import compared
from planner.render.what_if import what_if_json
from planner.workflows.renew.watch import Changed, Standing


def put(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("language", [random_edits, random_modules])
@pytest.mark.parametrize("first", range(0, examples(60), 15))
def test_what_is_said_of_a_part_is_what_is_said_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran], first: int, language: ModuleType
) -> None:
    parts = 0
    for seed in range(first, first + 15):
        r = random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        monkeypatch.chdir(tmp_path / str(seed))
        files = language.configuration(r)
        put(files)
        if language is random_modules:
            planner("init")
        options = OperationOptions(refresh=False, parallelism=1)
        if r.random() < 0.5:
            made = plan(options, Hooks(), to_apply=True)
            if made.complete is not None:
                apply(options, made, Hooks())
            release(made)
        parts += _edits(r, files, options, language)
    assert parts > 3


def _edits(r: random.Random, files: dict[str, str], options: OperationOptions, language: ModuleType) -> int:
    """One after the other, of which those that are wrong are taken back; how many plans were made in part."""
    found = open_or_make_plan(options)
    last = found.complete
    if last is None:
        return 0
    standing = Standing(last, bool(found.diagnostics), make_terminal())
    before: MadePlan[Any] | Changed = last
    parts = 0
    for _ in range(6):
        new = language.edited(r, files)
        put(new)
        whole = open_or_make_plan(options)
        parted = standing.after([name for name in new if new[name] != files[name]], options)
        if whole.complete is None:
            assert parted is None
            put(files)
            continue
        if parted is not None:
            parts += 1
            said = what_if_json(compared(_made(before), parted.made, _causes_of(before, parted)))
            whole_says = what_if_json(compared(last, whole.complete))
            for mine, theirs in zip(said["differences"], whole_says["differences"], strict=True):
                is_in_part = mine["address"] in parted.names | (before.names if isinstance(before, Changed) else set())
                assert mine == (theirs if is_in_part or "because" in mine else _without_cause(theirs))
            assert {**said, "differences": 0} == {**whole_says, "differences": 0}
        else:
            standing = Standing(whole.complete, bool(whole.diagnostics), make_terminal())
        before, last, files = parted or whole.complete, whole.complete, new
    return parts


def _made(one: MadePlan[Any] | Changed) -> MadePlan[Any]:
    return one.made if isinstance(one, Changed) else one


def _without_cause(difference: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in difference.items() if key in ("address", "without", "with")}


def _causes_of(before: MadePlan[Any] | Changed, parted: Changed) -> Any:
    known: dict[int, Any] = {id(parted.made): parted, id(_made(before)): before}
    return lambda made: one if isinstance(one := known[id(made)], Changed) else causes(one)


def test_edits_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is planned with what was edited in other files before it, too."""
    monkeypatch.chdir(tmp_path)
    put({"a.tf": 'resource "terraform_data" "a" {\n  input = 1\n}\n'})
    put({"b.tf": 'resource "terraform_data" "b" {\n  input = terraform_data.a.input\n}\n'})
    options = OperationOptions()
    made = open_or_make_plan(options).complete
    assert made is not None
    standing = Standing(made, False, make_terminal())
    put({"a.tf": 'resource "terraform_data" "a" {\n  input = 2\n}\n'})
    assert standing.after(["a.tf"], options) is not None
    put({"b.tf": 'resource "terraform_data" "b" {\n  input = [terraform_data.a.input]\n}\n'})
    changed = standing.after(["b.tf"], options)
    assert changed is not None
    assert {c.address: c.after["input"] for c in changed.made.plan.changes} == {  # type: ignore[index]
        "terraform_data.a": 2,
        "terraform_data.b": (2,),
    }
    Path("c.tf").write_text('output "c" {\n  value = 1\n}\n')
    assert standing.after(["c.tf"], options) is None
    os.unlink("b.tf")
    assert standing.after(["b.tf"], options) is None
