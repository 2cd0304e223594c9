"""Actions from their blocks to their invocation: what is planned, in which order it happens, and what fails with it.

The provider is the probe, a plugin of its own process, which notes each call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from cli.conftest import Ran
from provider.plugins import SOURCES, override

from planner.answers.documents import plan_file

HEAD = f'terraform {{\n  required_providers {{\n    probe = {{ source = "{SOURCES["probe"]}" }}\n  }}\n}}\n'


class World:
    """A directory with a configuration, the probe as its provider, and what the probe was told."""

    def __init__(self, folder: Path, planner: Callable[..., Ran]) -> None:
        self.folder, self.planner = folder, planner

    def write(self, text: str) -> None:
        (self.folder / "main.tf").write_text(HEAD + text)

    def run(self, *words: str) -> Ran:
        (self.folder / "calls").unlink(missing_ok=True)
        return self.planner(*words, "-no-color")

    def apply(self, *words: str) -> Ran:
        return self.run("apply", "-auto-approve", *words)

    def calls(self) -> list[str]:
        """The calls about objects and actions, in order."""
        path = self.folder / "calls"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [_short(line) for line in lines if line["call"] in _SHOWN]

    def plan(self, *words: str) -> dict[str, Any]:
        """The plan as JSON."""
        ran = self.run("plan", "-out=it.plan", *words)
        assert ran.code == 0, ran.out + ran.err
        shown = self.planner("show", "-json", "it.plan")
        return dict(json.loads(shown.out))

    def invocations(self, *words: str) -> list[str]:
        """The planned invocations: `EVENT ADDRESS BLOCK/INDEX`."""
        return [_named(one) for one in self.plan(*words).get("action_invocations", [])]


_SHOWN = ("ApplyResourceChange", "InvokeAction", "PlanAction")


def _short(line: dict[str, Any]) -> str:
    given = line["request"]
    if line["call"] == "ApplyResourceChange":
        prior, planned = given["prior_state"], given["planned_state"]
        return "create" if not prior else "update" if planned else "delete"
    return f"{'invoke' if line['call'] == 'InvokeAction' else 'plan'} {given['config'].get('text')}"


def _named(one: dict[str, Any]) -> str:
    trigger = one.get("lifecycle_action_trigger")
    if trigger is None:
        return f"CLI {one['address']}"
    place = f"{trigger['action_trigger_block_index']}/{trigger['actions_list_index']}"
    return f"{trigger['action_trigger_event']} {one['address'].removeprefix('action.probe_note.')} {place}"


@pytest.fixture(params=[6])
def world(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planner: Callable[..., Ran],
) -> World:
    override(monkeypatch, tmp_path, request.param, ("probe",))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PROBE_LOG", str(folder / "calls"))
    monkeypatch.setenv("PROBE_WORLD", str(folder / "world.json"))
    return World(folder, planner)


def note(name: str, text: str, *more: str) -> str:
    return f'action "probe_note" "{name}" {{\n  config {{\n    text = {text}\n    {chr(10).join(more)}\n  }}\n}}\n'


def thing(triggers: str, name: str = "web", more: str = "", label: str = "r") -> str:
    return f'resource "probe_thing" "{label}" {{\n  name = "{name}"\n  {more}\n  lifecycle {{\n{triggers}  }}\n}}\n'


def trigger(events: str, actions: str, *more: str) -> str:
    inner = "\n".join(more)
    return f"action_trigger {{\n events = [{events}]\n actions = [{actions}]\n {inner}\n}}\n"


A = "action.probe_note.a"


@pytest.mark.parametrize("world", [5, 6], indirect=True)
def test_an_action_after_a_creation(world: World) -> None:
    world.write(note("a", '"hello"', "steps = 2") + thing(trigger("after_create", A)))
    assert world.invocations() == ["AfterCreate a 0/0"]
    assert world.calls() == ["plan hello"]
    ran = world.apply("it.plan")
    assert world.calls() == ["create", "invoke hello"]
    by = "(triggered by probe_thing.r)"
    lines = [f"Action started: {A} {by}", f"Action {A} {by}: step 1/2", f"Action complete: {A} {by}"]
    assert all(line in ran.out for line in lines)
    assert "Apply complete! Resources: 1 added, 0 changed, 0 destroyed. Actions: 1 invoked." in ran.out
    assert "No changes." in world.run("plan").out and world.calls() == []


def test_the_caller_before_and_after(world: World) -> None:
    text = note("a", '"${caller.name} ${caller.size} ${coalesce(caller.note, "none")}"')
    world.write(text + thing(trigger("before_create, before_update", A), more="size = 1"))
    assert world.apply().code == 0 and world.calls()[-2:] == ["invoke web 1 none", "create"]
    world.write(text + thing(trigger("before_create, before_update", A), more='size = 2\n note = "n"'))
    assert world.apply().code == 0 and world.calls()[-2:] == ["invoke web 2 n", "update"]


def test_what_is_known_after_the_creation(world: World) -> None:
    """By `caller`, or by the name of the resource itself."""
    world.write(
        note("a", "caller.id")
        + note("b", "probe_thing.r.id")
        + thing(trigger("after_create", f"{A}, action.probe_note.b"))
    )
    plan = world.plan()
    assert [one["config_unknown"] for one in plan["action_invocations"]] == [{"tag": [], "text": True}] * 2
    assert world.apply().code == 0
    assert world.calls()[-3:] == ["create", "invoke thing-web", "invoke thing-web"]


REPLACED = [
    ("after_create, after_update", ["AfterCreate a 0/0"], ["delete", "create", "invoke note"]),
    (
        "before_destroy, after_create",
        ["BeforeDestroy a 0/0", "AfterCreate a 0/0"],
        ["invoke note", "delete", "create", "invoke note"],
    ),
    ("before_update", [], ["delete", "create"]),
]


@pytest.mark.parametrize(("events", "planned", "done"), REPLACED)
def test_events_of_a_replacement(world: World, events: str, planned: list[str], done: list[str]) -> None:
    text = note("a", '"note"')
    world.write(text + thing(trigger(events, A)))
    world.apply()
    world.write(text + thing(trigger(events, A), name="other"))
    assert world.invocations() == planned
    assert world.apply().code == 0
    assert [call for call in world.calls() if not call.startswith("plan")] == done


def test_a_replacement_that_creates_first(world: World) -> None:
    text = note("a", "caller.name")
    safe = "create_before_destroy = true\n"
    world.write(text + thing(safe + trigger("before_destroy, after_destroy, before_create", A)))
    world.apply()
    world.write(text + thing(safe + trigger("before_destroy, after_destroy, before_create", A), name="other"))
    assert world.apply().code == 0
    done = [call for call in world.calls() if not call.startswith("plan")]
    assert done == ["invoke other", "create", "invoke web", "delete", "invoke web"]


def test_the_end_of_objects(world: World) -> None:
    """The configuration is that of the plan, and `caller` the object as it was."""
    world.write(note("a", "caller.id") + thing(trigger("before_destroy, after_destroy", A)))
    assert world.apply().code == 0 and world.calls() == ["create"]
    assert world.invocations("-destroy") == ["BeforeDestroy a 0/0", "AfterDestroy a 0/0"]
    assert world.apply("it.plan").code == 0
    assert world.calls() == ["invoke thing-web", "delete", "invoke thing-web"]


def test_an_instance_that_is_not_declared_any_more(world: World) -> None:
    text = note("a", '"${caller.name}"') + thing(
        trigger("before_destroy", A), name="web-${count.index}", more="count = %d"
    )
    world.write(text % 2)
    world.apply()
    world.write(text % 1)
    assert world.invocations() == ["BeforeDestroy a 0/0"]
    assert world.apply().code == 0 and world.calls()[-2:] == ["invoke web-1", "delete"]


def test_an_end_whose_action_is_not_known(world: World) -> None:
    world.write(
        'resource "terraform_data" "x" {}\n' + note("a", "terraform_data.x.id") + thing(trigger("before_destroy", A))
    )
    world.apply()
    world.write(
        'resource "terraform_data" "y" {}\n'
        + note("a", "terraform_data.y.id")
        + thing(trigger("before_destroy", A), name="b")
    )
    ran = world.run("plan")
    assert ran.code == 1 and "has values that are not known yet" in ran.err.replace("\n", " ")


def test_an_end_whose_condition_is_not_known(world: World) -> None:
    conditional = trigger("before_destroy", A, "condition = %s")
    world.write(note("a", '"note"') + thing(conditional % "true"))
    world.apply()
    unknown = conditional % 'terraform_data.y.id == ""'
    world.write('resource "terraform_data" "y" {}\n' + note("a", '"note"') + thing(unknown, name="b"))
    ran = world.run("plan")
    assert ran.code == 1 and "the condition is not known yet" in ran.err.replace("\n", " ")


def test_the_order_of_blocks_and_actions(world: World) -> None:
    notes = "".join(note(name, f'"{name}"') for name in "abc")
    world.write(
        notes
        + thing(
            trigger("after_create", "action.probe_note.b, action.probe_note.a")
            + trigger("after_create", "action.probe_note.c")
        )
    )
    assert world.invocations() == ["AfterCreate b 0/0", "AfterCreate a 0/1", "AfterCreate c 1/0"]
    world.apply("it.plan")
    assert world.calls() == ["create", "invoke b", "invoke a", "invoke c"]


CONDITIONS = [
    ("false", [], ["create"]),
    ("true", ["AfterCreate a 0/0"], ["create", "invoke note"]),
    ('probe_thing.r.id != ""', ["AfterCreate a 0/0"], ["create", "invoke note"]),
    ('probe_thing.r.id == ""', ["AfterCreate a 0/0"], ["create"]),
]


@pytest.mark.parametrize(("condition", "planned", "done"), CONDITIONS)
def test_conditions(world: World, condition: str, planned: list[str], done: list[str]) -> None:
    world.write(note("a", '"note"') + thing(trigger("after_create", A, f"condition = {condition}")))
    assert world.invocations() == planned
    assert world.apply("it.plan").code == 0 and world.calls() == done


DEPENDENT = 'resource "terraform_data" "after" { input = probe_thing.r.id }\n'
FAILURES = [
    ("after_create", "", 1, ["probe_thing.r"], ["create", "invoke x"], False),
    ("after_create", "on_failure = halt", 1, ["probe_thing.r"], ["create", "invoke x"], False),
    ("after_create", "on_failure = taint", 1, ["probe_thing.r"], ["create", "invoke x"], True),
    (
        "after_create",
        "on_failure = continue",
        0,
        ["probe_thing.r", "terraform_data.after"],
        ["create", "invoke x", "invoke b"],
        False,
    ),
    ("before_create", "", 1, [], ["invoke x"], False),
    (
        "before_create",
        "on_failure = continue",
        0,
        ["probe_thing.r", "terraform_data.after"],
        ["invoke x", "invoke b", "create"],
        False,
    ),
]


@pytest.mark.parametrize(("event", "argument", "code", "left", "done", "tainted"), FAILURES)
def test_failures(
    world: World, event: str, argument: str, code: int, left: list[str], done: list[str], tainted: bool
) -> None:
    """What fails with an action that fails: later actions, the change itself, and what depends on the object."""
    actions = note("a", '"x"', "fail = true") + note("b", '"b"')
    world.write(actions + thing(trigger(event, f"{A}, action.probe_note.b", argument)) + DEPENDENT)
    ran = world.apply()
    assert ran.code == code, ran.out + ran.err
    assert [call for call in world.calls() if not call.startswith("plan")] == done
    state = json.loads((world.folder / "terraform.tfstate").read_text())
    objects = {f"{one['type']}.{one['name']}": one["instances"][0] for one in state["resources"] if one["instances"]}
    assert sorted(objects) == left
    assert [name for name, one in objects.items() if one.get("status") == "tainted"] == (
        ["probe_thing.r"] if tainted else []
    )
    assert "The note was refused" in (ran.err if code else ran.out)
    if not code:
        assert "Actions: 1 invoked, 1 failed." in ran.out


def test_a_failed_update_does_not_taint(world: World) -> None:
    text = note("a", '"x"', "fail = true")
    world.write(text + thing(trigger("after_update", A, "on_failure = taint"), more="size = 1"))
    world.apply()
    world.write(text + thing(trigger("after_update", A, "on_failure = taint"), more="size = 2"))
    assert world.apply().code == 1
    assert "No changes." in world.run("plan").out


INVALID = [
    (trigger('"after_create"', A), "The keywords in events are written without quotes: after_create."),
    (trigger("after_creat", A), 'Did you mean "after_create"?'),
    (trigger("", A), "names at least one event"),
    (trigger("after_create", ""), "names at least one action"),
    (trigger("after_create", A, 'on_failure = "halt"'), "The keywords in on_failure are written without quotes: halt."),
    (
        trigger("after_create", A, "on_failure = stop"),
        "The keywords allowed in on_failure are halt, continue and taint.",
    ),
    (trigger("after_create", "action.probe_note.aa"), 'Did you mean "probe_note.a"?'),
    (trigger("after_create", "probe_thing.r"), "The actions of a trigger are named as action.TYPE.NAME"),
    (trigger("after_create", "action.probe_note.two"), "name one of its instances, as in action.probe_note.two[0]."),
    (trigger("after_create", f"{A}[0]"), "it has a single instance: remove the index."),
    (trigger("after_create", A, "condition = []"), "this one is neither true nor false"),
]


@pytest.mark.parametrize(("written", "message"), INVALID)
def test_invalid_triggers(world: World, written: str, message: str) -> None:
    two = note("two", '"x"').replace("{\n", "{\n  count = 2\n", 1)
    world.write(note("a", '"x"') + two + thing(written))
    ran = world.run("validate")
    assert ran.code == 1 and message in " ".join((ran.out + ran.err).split()), ran.out + ran.err


WRONG = [
    (
        'data "probe_lookup" "d" {\n lifecycle {\n' + trigger("after_create", A) + "}\n}\n",
        "Actions are triggered by changes of managed resources only.",
    ),
    (note("a", '"y"'), "action.probe_note.a is already declared at"),
    ('action "probe_nope" "n" {}\n', "has no action type probe_nope"),
    ('action "probe_note" "n" {\n count = 1\n for_each = {}\n}\n', 'Invalid combination of "count" and "for_each"'),
    ('action "probe_note" "n" {}\n', 'The argument "text" is required'),
    ('action "probe_note" "n" {\n config { text = "" }\n}\n', "Empty text"),
    ('output "o" { value = action.probe_note.a.text }\n', "An action has no value"),
    ('output "o" { value = caller.id }\n', "Reference to undeclared resource"),
]


@pytest.mark.parametrize(("written", "message"), WRONG)
def test_invalid_actions(world: World, written: str, message: str) -> None:
    world.write(note("a", '"x"') + written)
    ran = world.run("validate")
    assert ran.code == 1 and message in " ".join((ran.out + ran.err).split()), ran.out + ran.err


def test_instances_by_key(world: World) -> None:
    each = 'for_each = { x = "1", y = "2" }\n'
    action = note("a", "each.value").replace("{\n", "{\n" + each, 1)
    world.write(action + thing(trigger("after_create", f"{A}[each.key]"), name="t-${each.key}", more=each))
    assert world.invocations() == ['AfterCreate a["x"] 0/0', 'AfterCreate a["y"] 0/0']
    assert world.apply("it.plan").code == 0
    assert sorted(call for call in world.calls() if call != "create") == ["invoke 1", "invoke 2"]


def test_what_an_action_needs_comes_first(world: World) -> None:
    world.write(
        'resource "terraform_data" "x" { input = "given" }\n'
        + note("a", "terraform_data.x.output")
        + thing(trigger("before_create", A))
    )
    assert world.apply().code == 0 and world.calls()[-2:] == ["invoke given", "create"]


def test_what_an_action_needs_must_not_wait_for_the_object(world: World) -> None:
    world.write(DEPENDENT + note("a", "terraform_data.after.id") + thing(trigger("after_create", A)))
    ran = world.run("plan")
    assert ran.code == 1 and "Cycle" in ran.err


def test_secrets(world: World) -> None:
    secret = 'variable "s" {\n default = "hush"\n sensitive = true\n}\n'
    secret += 'variable "e" {\n default = "gone"\n ephemeral = true\n}\n'
    world.write(secret + note("a", "var.s", "steps = 1", "secret_wo = var.e") + thing(trigger("after_create", A)))
    plan = world.plan()
    (one,) = plan["action_invocations"]
    assert one["config_sensitive"]["text"] is True and one["config_values"]["secret_wo"] is None
    assert b"gone" not in (world.folder / "it.plan").read_bytes()
    ran = world.apply("it.plan", "-var=e=gone")
    assert ran.code == 0 and "hush" not in ran.out and "(message suppressed" in ran.out
    world.write(secret + note("a", "var.s", "fail = true") + thing(trigger("after_update", A), more="size = 2"))
    ran = world.apply()
    assert ran.code == 1 and "The note was refused" in ran.err and "hush" not in ran.out + ran.err
    assert "It says hush." in world.apply(f"-invoke={A}", "-show-sensitive").err
    world.write(secret + note("a", "var.e") + thing(trigger("after_create", A)))
    assert "must not be ephemeral" in world.run("plan").err


def test_modules(world: World) -> None:
    (world.folder / "m").mkdir()
    (world.folder / "m" / "main.tf").write_text(
        HEAD + note("a", '"in ${caller.name}"') + thing(trigger("after_create", A))
    )
    world.write('module "m" {\n  source = "./m"\n  count = 2\n}\n')
    world.run("init")
    plan = world.plan()
    assert [one["address"] for one in plan["action_invocations"]] == [f"module.m[{n}].{A}" for n in range(2)]
    assert world.apply("it.plan").code == 0 and world.calls().count("invoke in web") == 2


@pytest.mark.parametrize("mode", ["nocomplete", "crash", "plan_error"])
def test_faults_of_the_provider(world: World, mode: str) -> None:
    faulty = f'action "probe_faulty" "f" {{\n  config {{ mode = "{mode}" }}\n}}\n'
    world.write(faulty + thing(trigger("after_create", "action.probe_faulty.f")))
    ran = world.apply()
    assert ran.code == 1 and "action.probe_faulty.f" in ran.err and "Traceback" not in ran.err


def test_an_action_that_was_cut_off_is_named_and_not_repeated(world: World) -> None:
    world.write(note("a", '"x"', "fail = true") + thing(trigger("after_create", A)))
    assert world.apply().code == 1
    again = world.run("plan")
    assert "No changes." in again.out and world.calls() == []


def test_an_invocation_by_the_command_line(world: World) -> None:
    """Nothing else is planned, though the resource is pending."""
    world.write(note("a", '"hello"', "steps = 1") + thing(trigger("after_create", A)))
    plan = world.plan(f"-invoke={A}")
    assert "resource_changes" not in plan and plan["action_invocations"][0]["invoke_action_trigger"] == {}
    shown = world.run("plan", f"-invoke={A}").out
    assert f"# {A} will be invoked" in shown
    assert "Plan: 0 to add, 0 to change, 0 to destroy. Actions: 1 to invoke." in shown
    ran = world.apply("it.plan")
    assert world.calls() == ["invoke hello"] and f"Action {A} (triggered by CLI): step 1/1" in ran.out
    assert world.apply(f"-invoke={A}").code == 0 and world.calls() == ["plan hello", "invoke hello"]


def test_invocations_for_each_caller(world: World) -> None:
    text = note("a", '"for ${caller.name}"') + thing(
        trigger("after_update", A), name="w-${count.index}", more="count = 2"
    )
    world.write(text)
    ran = world.run("plan", f"-invoke={A}")
    assert ran.code == 1 and "no existing object has a trigger that names this action" in " ".join(ran.err.split())
    world.apply()
    assert world.invocations(f"-invoke={A}") == [f"CLI {A}"] * 2
    assert world.apply("it.plan").code == 0 and world.calls() == ["invoke for w-0", "invoke for w-1"]
    assert world.apply(f"-invoke={A}", "-target=probe_thing.r[1]").code == 0
    assert world.calls() == ["plan for w-1", "invoke for w-1"]


REFUSED = [
    (("-invoke=action.probe_note.b",), "The configuration has no action.probe_note.b."),
    (("-invoke=probe_thing.r",), "Only actions can be invoked"),
    (("-invoke=action..",), "names nothing that can be invoked"),
    ((f"-invoke={A}", "-destroy"), "This kind of plan cannot invoke actions"),
    ((f"-invoke={A}", "-refresh-only"), "This kind of plan cannot invoke actions"),
    ((f"-invoke={A}", "-replace=probe_thing.r"), "This kind of plan cannot invoke actions"),
    ((f"-invoke={A}",), "remain unknown: text."),
    ((f"-invoke={A}[0]",), "has no instance of the action that"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_invocations_that_are_refused(world: World, words: tuple[str, ...], message: str) -> None:
    world.write(note("a", "probe_thing.r.token") + thing(trigger("after_create", A)))
    ran = world.run("plan", *words)
    assert ran.code == 1 and message in " ".join(ran.err.split()), ran.out + ran.err


def test_invocations_that_no_trigger_decides(world: World) -> None:
    world.write(note("a", '"x"') + thing(trigger("after_create", A)))
    world.plan(f"-invoke={A}")
    assert "because -invoke names them" in " ".join(world.run("why", "-plan=it.plan", "invoke", A).err.split())
    ran = world.run("refresh", f"-invoke={A}")
    assert ran.code == 1 and "Remove -invoke." in ran.err


def test_instances_by_the_command_line(world: World) -> None:
    two = note("a", '"n ${count.index}"').replace("{\n", "{\n  count = 2\n", 1)
    world.write(two)
    assert world.invocations(f"-invoke={A}") == [f"CLI {A}[0]", f"CLI {A}[1]"]
    assert world.invocations(f"-invoke={A}[1]") == [f"CLI {A}[1]"]


def test_why(world: World) -> None:
    """Why an action is invoked, and why not: by its event, by its condition."""
    world.write(
        note("a", '"x"')
        + note("b", '"x"')
        + thing(trigger("after_create", A) + trigger("after_update", "action.probe_note.b"))
    )
    shown = world.run("why", "invoke", A).out
    assert "a trigger of probe_thing.r names action.probe_note.a for after_create" in " ".join(shown.split())
    assert "main.tf" in shown
    followed = " ".join(shown.split())
    assert (
        f"If {A} fails: the change of probe_thing.r stays in effect, and probe_thing.r is not tainted: main.tf:"
        in followed
    )
    assert (
        "an error is reported; later actions of probe_thing.r, and everything that depends on probe_thing.r, are"
        in followed
    )
    ran = world.run("why", "-not", "invoke", "action.probe_note.b")
    assert ran.code == 0 and "update" in ran.out
    assert world.run("why", "invoke", "action.probe_note.b").code == 1
    assert world.run("why", "-not", "invoke", A).code == 1
    assert "No trigger of an object" in " ".join(world.run("why", "invoke", "probe_thing.x").err.split())


def test_policies(world: World) -> None:
    world.write(note("a", '"x"') + thing(trigger("after_create", A)))
    (world.folder / "p").mkdir()
    rule = 'deny("no_notes", O, "invokes " ++ A ++ " " ++ E) :- invokes(A, O, E).\n'
    (world.folder / "p" / "p.dl").write_text(rule)
    ran = world.run("plan", "-policy=p")
    assert ran.code == 1 and "invokes action.probe_note.a after_create" in ran.out + ran.err
    world.plan()
    (world.folder / "plan.json").write_text(world.planner("show", "-json", "it.plan").out)
    ran = world.run("policy", "check", "-policy=p", "-plan=plan.json")
    assert ran.code == 1 and "invokes action.probe_note.a after_create" in ran.out + ran.err


def test_an_action_that_was_under_way_when_the_process_was_killed(world: World) -> None:
    """It is named by the next command, and not invoked again."""
    faulty = 'action "probe_faulty" "f" {\n  config { mode = "hang" }\n}\n'
    world.write(faulty + thing(trigger("after_create", "action.probe_faulty.f")))
    words = [sys.executable, "-m", "planner", "apply", "-auto-approve"]
    process = subprocess.Popen(words, cwd=world.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Action started"):
            break
    process.kill()
    process.communicate()
    ran = world.run("plan")
    shown = " ".join((ran.out + ran.err).split())
    assert "The invocation of action.probe_faulty.f began" in shown and "No changes." in shown
    assert world.calls() == []


def test_a_plan_that_invokes_is_applied_once(world: World) -> None:
    """Also where no content of the state differs afterwards."""
    world.write(note("a", '"x"') + 'resource "terraform_data" "x" {}\n')
    world.apply()
    world.plan(f"-invoke={A}")
    assert world.apply("it.plan").code == 0 and world.calls() == ["invoke x"]
    ran = world.apply("it.plan")
    assert ran.code == 1 and world.calls() == [] and "The plan can no longer be applied" in ran.err


def test_reports_count_invocations(world: World) -> None:
    """The causes, the review, the page, and the comparison of plans."""
    world.write(note("a", '"x"') + thing(trigger("before_create, after_create", A)))
    asked = ("-causes", "-markdown=r.md", "-review=r.json")
    assert "0 to destroy. Actions: 2 to invoke." in world.run("plan", *asked).out
    told = (world.folder / "r.md").read_text()
    assert "Actions: 2 to invoke." in told
    review = json.loads((world.folder / "r.json").read_text())
    by = "probe_thing.r (before_create), probe_thing.r (after_create)"
    assert review["notes"] == [f"{A} is invoked 2 times, by {by}."] and review["counts"]["invoke"] == 2
    assert world.run("explore", "-out=page.html").code == 0
    assert "Actions to be invoked before this change" in (world.folder / "page.html").read_text()
    assert "With:    0 to add, 0 to change, 0 to destroy. Actions: 1 to invoke." in world.run(
        "what-if", f"-invoke={A}"
    ).out.replace("\n\n", "\n")
    alone = world.run("plan", f"-invoke={A}", *asked, "-detailed-exitcode")
    assert alone.code == 2 and "Actions: 1 to invoke." in alone.out
    assert f"{A.replace('_', chr(92) + '_')} is invoked by the command line." in (world.folder / "r.md").read_text()
    world.apply(f"-invoke={A}", "-markdown=r.md")
    assert "0 destroyed. Actions: 1 invoked." in (world.folder / "r.md").read_text()


def test_a_fleet_counts_invocations(world: World) -> None:
    (world.folder / "u").mkdir()
    (world.folder / "u" / "main.tf").write_text(HEAD + note("a", '"x"') + thing(trigger("after_create", A)))
    ran = world.run("batch", "plan", "-report=r.json")
    assert ran.code == 0 and "u: changes, +1 ~0 -0, 1 action" in ran.out + ran.err
    assert "Objects: 1 to add, 1 to invoke." in ran.out
    (unit,) = json.loads((world.folder / "r.json").read_text())["units"]
    assert unit["counts"] == {"add": 1, "change": 0, "remove": 0, "import": 0, "forget": 0, "invoke": 1}


def test_references_of_actions_are_shown(world: World) -> None:
    """As readers of a variable, and as edges of a cycle that can be removed."""
    world.write('variable "v" { default = "x" }\n' + note("a", "var.v"))
    assert A in world.run("vars").out
    world.write(DEPENDENT + note("a", "terraform_data.after.id") + thing(trigger("after_create", A)))
    assert f"the reference from {A} to terraform_data.after" in " ".join(world.run("cycles").out.split())


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("block", 7, "has no such trigger"),
        ("index", 7, "has no such trigger"),
        ("block", -1, "cannot be read as a plan"),
        ("index", "x", "cannot be read as a plan"),
        ("event", "after_nothing", "cannot be read as a plan"),
    ],
)
def test_plan_files_with_wrong_invocations(world: World, field: str, value: object, message: str) -> None:
    """Reported, and nothing is invoked."""
    world.write(note("a", '"x"') + thing(trigger("before_create", A)))
    world.plan()
    with ZipFile("it.plan") as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != plan_file.SUM}
    written = {"block": b'"block":0', "index": b'"index":0', "event": b'"event":"before_create"'}[field]
    assert members["tfplan"].count(written) == 1
    members["tfplan"] = members["tfplan"].replace(written, json.dumps({field: value})[1:-1].encode())
    with ZipFile("it.plan", "w") as archive:
        for name, data in (*members.items(), (plan_file.SUM, plan_file._sum([*members.items()]))):
            archive.writestr(name, data)
    ran = world.apply("it.plan")
    assert ran.code == 1 and message in " ".join(ran.err.split()), ran.err
    assert "invoke x" not in world.calls()


def test_overridden_objects_invoke_nothing(world: World) -> None:
    world.write(note("a", '"x"') + thing(trigger("after_create", A)))
    override = "override_resource {\n  target = probe_thing.r\n}\n"
    (world.folder / "a.tftest.hcl").write_text(f'{override}run "r" {{}}\n')
    ran = world.run("test")
    assert ran.code == 0, ran.out + ran.err
    assert "invoke x" not in world.calls()


def test_json_lines_of_an_action(world: World) -> None:
    world.write(note("a", '"x"', "steps = 3") + thing(trigger("after_create", A)))
    lines = [json.loads(line) for line in world.apply("-json").out.splitlines()]
    kinds = ["planned_action_invocation", "action_start", *["action_progress"] * 3, "action_complete"]
    assert [line["type"] for line in lines if "action" in line["type"]] == kinds
    (planned,) = (line["invocation"] for line in lines if line["type"] == "planned_action_invocation")
    assert planned["action_addr"]["addr"] == A and planned["action_addr"]["implied_provider"] == "probe"
    trigger_ = planned["lifecycle_trigger"]
    assert (trigger_["triggering_event"], trigger_["on_failure"]) == ("AfterCreate", "ActionOnFailureHalt")
    assert [line["hook"]["message"] for line in lines if line["type"] == "action_progress"] == [
        f"step {n}/3" for n in (1, 2, 3)
    ]


def test_a_condition_with_an_ephemeral_value(world: World) -> None:
    secret = 'variable "e" {\n default = "x"\n ephemeral = true\n}\n'
    world.write(secret + note("a", '"x"') + thing(trigger("after_create", A, 'condition = var.e == "x"')))
    ran = world.run("plan")
    assert ran.code == 1 and "ephemeral" in ran.err and "main.tf line" in ran.err, ran.out


def test_a_write_only_value_that_a_provider_returns(world: World) -> None:
    world.write('resource "probe_thing" "r" {\n name = "wo-leak-a"\n secret_wo = "hush"\n}\n')
    ran = world.run("plan")
    assert ran.code == 1 and "secret_wo" in ran.err and "hush" not in ran.err and "leaked" not in ran.err, ran.err
