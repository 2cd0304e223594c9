"""A gate of hand-written changes: each says which root causes every change of a plan has, and where they stand.

The files in gate/ have one topic each. Of every configuration one apply is made; each change starts from there:

    [[configuration]]
    files."main.tf" = '''...'''         before; `apply` has options of the apply
    [[configuration.change]]
    edit, files, remove, options, env   what is changed: [file, old, new], files written, files removed, ...
    state                               [address, attribute, value]: edits of the state; `taint`, `lost`: addresses
    world                               objects behind a provider that change outside; {} for one that is gone
    record = false                      without the record of what values were
    masks                               changes that have another cause as soon as theirs are taken back
    because."ADDRESS" = "variable var.n -var"

An expected cause is its kind, its name and its place (`:3` is a line of main.tf). Several in one text are joined by
` & `, and `?` stands before candidates. All changes of the plan have to be named, no more and no fewer.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import explain
from explain.turning_back import Former, unexplained
from provider.plugins import attached, write_plugin
from thinned import thinned

from planner.answers.explain.causes import Because, CauseStep
from planner.foundation.vocabulary.span import Span
from planner.logic.model.graph import CommandLine, StateEntry
from planner.logic.model.plan import change_name

Run = Callable[..., Any]
GATE = Path(__file__).with_name("gate")
RECORD = ".terraform.tfstate.applied.json"


def configurations() -> list[Any]:
    found = []
    for path in sorted(GATE.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["configuration"]:
            found.append(pytest.param(entry, id=f"{path.stem}: {entry['about']}"))
    return found


@pytest.mark.parametrize("entry", thinned(configurations(), 3))
def test_every_change_has_the_causes_that_it_should(
    entry: dict[str, Any], tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        run_entry(entry, tmp_path, planner, monkeypatch, stack)


def run_entry(
    entry: dict[str, Any], tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, stack: ExitStack
) -> None:
    applied, work, world = tmp_path / "applied", tmp_path / "work", tmp_path / "world"
    write(applied, entry["files"])
    monkeypatch.chdir(applied)
    if "world" in entry:
        write(world, {f"{name}.json": json.dumps(thing) for name, thing in entry["world"].items()})
        plugin = {"test": write_plugin(tmp_path / "bin")}
        reattach = stack.enter_context(attached(plugin, TEST_PROVIDER_WORLD=str(world)))
        monkeypatch.setenv("TF_REATTACH_PROVIDERS", reattach)
    explain([])  # installs modules
    ran = planner("apply", "-auto-approve", *entry.get("apply", []))
    assert ran.code == 0, ran.out + ran.err
    wrong, stay = [], []
    explained, _ = explain(entry.get("apply", []))
    assert explained is not None
    former = Former.of(explained, applied)
    things = {path.name: path.read_text(encoding="utf-8") for path in world.glob("*.json")}
    for change in entry["change"]:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(applied, work)
        monkeypatch.chdir(work)
        with monkeypatch.context() as patch:
            for name, value in change.get("env", {}).items():
                patch.setenv(name, value)
            write(world, things)
            for name, thing in change.get("world", {}).items():
                path = world / f"{name}.json"
                old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
                path.write_text(json.dumps({**old, **thing}), encoding="utf-8")
                if not thing:
                    path.unlink()
            told, kept = causes(change, former, work)
            stay += kept
        if told != {name: in_order(text) for name, text in change.get("because", {}).items()}:
            wrong.append(difference(change, told))
    assert not wrong, "\n".join(wrong)
    assert not stay, "\n".join(stay)


def causes(change: dict[str, Any], former: Former, work: Path) -> tuple[dict[str, str], list[str]]:
    """The causes of all changes of the plan after a change of what it is made from; and the changes that are still
    there when all their causes are taken back."""
    for name in change.get("remove", []):
        Path(name).unlink()
    write(Path(), change.get("files", {}))
    for name, old, new in change.get("edit", []):
        text = Path(name).read_text(encoding="utf-8")
        assert text.count(old) == 1, (change, old)
        Path(name).write_text(text.replace(old, new), encoding="utf-8")
    edit_state(change)
    if not change.get("record", True):
        Path(RECORD).unlink()
    explained, problems = explain(change.get("options", []))
    assert explained is not None and not any(p.is_error for p in problems), problems
    chains = explained.causes()
    names = [change_name(c) for c in explained.plan.changes if c.action != "no-op"]
    names += [f"output.{o.name}" for o in explained.plan.outputs if o.action != "no-op"]
    told = {name: words(chains[name]) if name in chains else "" for name in names}
    _, stay = unexplained(explained, former, change.get("options", []), work)
    return told, [
        f"{change.get('about')}: {name} stays"
        for name in stay
        if name.partition(": ")[0] not in change.get("masks", [])
    ]


def edit_state(change: dict[str, Any]) -> None:
    """Change objects behind the back of everybody, or call them tainted."""
    state = json.loads(Path("terraform.tfstate").read_text(encoding="utf-8"))
    edits = {(address, attribute): value for address, attribute, value in change.get("state", [])}
    edits |= {(address, "status"): "tainted" for address in change.get("taint", [])}
    for resource in state["resources"]:
        for instance in list(resource["instances"]):
            key = f"[{json.dumps(instance['index_key'])}]" if "index_key" in instance else ""
            module = f"{resource['module']}." if "module" in resource else ""
            mode = "data." if resource["mode"] == "data" else ""
            name = f"{module}{mode}{resource['type']}.{resource['name']}{key}"
            if name in change.get("lost", []):
                resource["instances"].remove(instance)
            for (address, attribute), value in edits.items():
                if address == name:
                    (instance if attribute == "status" else instance["attributes"])[attribute] = value
    if edits or "lost" in change:
        Path("terraform.tfstate").write_text(json.dumps(state), encoding="utf-8")


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def words(because: Because) -> str:
    roots = " & ".join(root_words(root) for root in because.roots)
    return in_order(f"? {roots}" if because.is_guess else roots)


def in_order(text: str) -> str:
    roots = " & ".join(sorted(text.removeprefix("? ").split(" & ")))
    return f"? {roots}" if text.startswith("? ") else roots


def root_words(root: CauseStep) -> str:
    name = root.what.removeprefix("the text of ") if root.kind == "text" else root.what.removeprefix("file ")
    source, place = root.source, ""
    if isinstance(source, Span):
        place = f"{source.filename}:{source.start_position.line}".removeprefix("main.tf")
    elif isinstance(source, CommandLine):
        place = source.argument.partition("=")[0]
    elif isinstance(source, StateEntry):
        place = "state"
    return f"{root.kind} {name} {root.note}{place}"


def difference(change: dict[str, Any], told: dict[str, str]) -> str:
    expected = change.get("because", {})
    lines = [f"{change.get('about', change.get('options', change.get('edit')))}"]
    for name in sorted({*expected, *told}):
        if name not in expected or in_order(expected[name]) != told.get(name):
            lines.append(f"  {name}\n    should be {expected.get(name)}\n    is        {told.get(name)}")
    return "\n".join(lines)
