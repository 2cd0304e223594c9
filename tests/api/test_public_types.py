"""All that the library offers, by its own list: records go to other processes, and wrong arguments are named."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import planner
import planner.aio
from planner import rules
from planner.api import configuration, fleet, model, plan, states

MODULE = """
variable "image" {
  default = "v1"
}

resource "terraform_data" "a" {
  input = var.image
}

output "image" {
  value = terraform_data.a.output
}
"""
TESTS = 'run "one" {\n  command = plan\n}\n'
FACTS = '/// a(x): a fact. Example: a("b")\n.decl a(x: symbol)\n.input a\n.output a\n'


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """One object of each public type, by the name of the type."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "main.tf").write_text(MODULE)
    (folder / "one.tftest.hcl").write_text(TESTS)
    (folder / ".planner-unit").touch()
    events: list[Any] = []
    loaded = planner.load(folder)
    result = loaded.plan().apply(events.append)
    changed = planner.load(folder, variables={"image": "v2"}).plan()
    (folder / "plan.json").write_text(json.dumps(changed.to_json()))
    (folder / "checks.dl").write_text('deny("x", A, "is a") :- change(A, _, "a", _, _, _).\n')
    units, planned, verdict = planner.fleet(folder), planner.fleet(folder).plan(), changed.judge(["checks.dl"])
    with pytest.raises(planner.Failure) as raised:
        planner.load(folder, variables={"nothing": 1}).plan()
    program = rules.compile(FACTS)
    comparison = changed.what_if({"image": "v3"})
    made = [
        *(changed.changes[0].causes[0], changed.changes[0], changed.changes[0].explanation, changed.outputs[0]),
        *(loaded, loaded.state(), loaded.state().resources[0], loaded.workspaces(), result, events[0], changed.counts),
        *(
            raised.value,
            raised.value.diagnostics[0],
            verdict,
            verdict.findings[0],
            changed.fixes("terraform_data.a")[0],
        ),
        *(units, units.units()[0], planned, planned.units[0], planner.stack(folder), changed.graph(), changed),
        *(next(iter(changed.graph().vertices.values())), planner.read_plan(folder / "plan.json", folder)),
        *(changed.why("terraform_data.a"), changed.query("edge(X, Y)"), comparison, comparison.differences[0]),
        *(planner.Sensitive("x"), planner.Stop(), planner.UNKNOWN, planner.UnsavedStateError([], b"{}")),
        *(planner.test(folder), program, program.evaluate({"a": [("b",)]})),
    ]
    return {type(one).__name__: one for one in made}


OF_THIS_PROCESS = {"Plan": "save it", "Comparison": "save it", "Stop": "its own process"}
WRITTEN = [
    name
    for module in (model, plan, configuration, fleet, states)
    for name, one in vars(module).items()
    if isinstance(one, type) and one.__module__ == module.__name__ and name not in ("Judged", "States", "Workspaces")
]


def test_all_types_are_here(objects: Mapping[str, Any]) -> None:
    exported = {name for name in planner._EXPORTS if isinstance(getattr(planner, name), type)}
    assert {*exported, *WRITTEN} <= objects.keys()


def test_records_go_to_other_processes(objects: Mapping[str, Any]) -> None:
    for name, one in objects.items():
        if name in OF_THIS_PROCESS:
            with pytest.raises(TypeError, match=OF_THIS_PROCESS[name]):
                pickle.dumps(one)
            continue
        copy = pickle.loads(pickle.dumps(one))
        assert type(copy) is type(one) and len(repr(one)) < 2000
        if " object at " not in repr(one):
            assert repr(copy) == repr(one)
    verdict = pickle.loads(pickle.dumps(objects["Verdict"]))
    assert verdict.to_json() == objects["Verdict"].to_json() and verdict.costs()[0].rule == "checks.1"
    assert dict(pickle.loads(pickle.dumps(objects["Derived"]))) == {"a": (("b",),)}


def test_verdicts_are_shown_in_notebooks(objects: Mapping[str, Any]) -> None:
    assert repr(objects["Verdict"]) == "<Verdict deny: 1 deny>"
    assert "<td" in objects["Verdict"]._repr_html_() and "terraform_data.a" in objects["Verdict"]._repr_html_()


ODD: tuple[Any, ...] = (None, 5, "a\0b", "\ud800", (object(),), object(), planner.UNKNOWN)
GOOD: Mapping[str, Any] = {
    "address": "terraform_data.a",
    "old": "terraform_data.a",
    "new": "terraform_data.b",
    "facts": {},
    "addresses": (),
    "data": b"{}",
}
LEFT_OUT = {"Plan.apply", "Configuration.having", "Derived.get", "Graph.of", "Configuration.of_command"}


def _calls(objects: Mapping[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (planner, planner.rules, planner.aio):
        for name, one in inspect.getmembers(module, callable):
            names = getattr(
                module, "_EXPORTS", getattr(module, "__all__", ("plan", "validate", "apply", "fleet", "run"))
            )
            if name in names and not isinstance(one, type):
                yield name, one
    for kind in ("Configuration", "Plan", "PlanDocument", "Fleet", "Program", "Derived", "Verdict", "State", "Graph"):
        for name in dir(objects[kind]):
            if name[0] != "_" and f"{kind}.{name}" not in LEFT_OUT and inspect.ismethod(getattr(objects[kind], name)):
                yield f"{kind}.{name}", getattr(objects[kind], name)


def test_wrong_arguments_are_named(objects: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(MODULE)
    problems = []

    def attempt(name: str, call: Callable[..., Any], *values: Any, **named: Any) -> BaseException | None:
        try:
            result = call(*values, **named)
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except planner.Failure as failure:
            if any(one.code == "cli.internal_error" for one in failure.diagnostics):
                problems.append(f"{name} {values} {named}: {failure}")
        except (KeyError, ValueError, TypeError, AttributeError, OSError) as problem:
            return problem
        return None

    for name, call in _calls(objects):
        parameters = inspect.signature(call).parameters.values()
        needed = {p.name: GOOD.get(p.name, "x") for p in parameters if p.default is p.empty and p.kind < 2}
        frob = attempt(name, call, *needed.values(), frob=1)
        assert isinstance(frob, TypeError) and "frob" in str(frob), name
        for parameter in parameters:
            for value in ODD:
                if parameter.kind is parameter.VAR_POSITIONAL:
                    problem = attempt(name, call, *needed.values(), value)
                elif parameter.kind is parameter.VAR_KEYWORD:
                    continue
                elif parameter.name in needed:
                    problem = attempt(name, call, *{**needed, parameter.name: value}.values())
                else:
                    problem = attempt(name, call, *needed.values(), **{parameter.name: value})
                if problem is not None and not isinstance(problem, KeyError):
                    problems.append(f"{name}({parameter.name}={value!r}): {problem!r}")
    assert not problems, "\n".join(problems)
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda plan: plan.why("terraform_data.a", kind="aply"), "apply"),
        (lambda plan: plan.query("edge(X, Y)", kind="pln"), "plan"),
        (lambda plan: plan.graph("plna"), "plan"),
        (lambda plan: planner.judge("x", kind="stat"), "state"),
        (lambda plan: planner.load(".").plan(mode="destory"), "destroy"),
        (lambda plan: planner.load(".").graph("plan-destory"), "plan-destroy"),
        (lambda plan: planner.fleet(".").plan(mode="refresh_only"), "refresh-only"),
        (lambda plan: planner.load(".").init(lockfile="read-only"), "readonly"),
    ],
)
def test_misspelt_choices(objects: Mapping[str, Any], call: Callable[[Any], Any], hint: str) -> None:
    with pytest.raises(planner.Failure, match=f'must be one of .* Did you mean "{hint}"'):
        call(objects["Plan"])
