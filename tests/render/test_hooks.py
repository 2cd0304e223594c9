"""What walks tell, to people and as JSON lines."""

from __future__ import annotations

import io
import json
import re
import time

import pytest
from cli.conftest import make_terminal
from render import from_json

from planner.engine.walk.hooks import HookGroup, Hooks, ObjectId
from planner.foundation.vocabulary.diagnostic import error
from planner.render import json_ui
from planner.render.hooks_human import (
    HumanHooks,
    ProgressHooks,
    ProgressLine,
    StillRunning,
    duration_text,
    output_lines,
)
from planner.render.json_ui import JsonHooks, JsonLines

ID = ObjectId("id", "i-1")


def story(hooks):
    """One of each call, as walks make them."""
    hooks.refresh_start("a.b", ID)
    hooks.refresh_complete("a.b", ID)
    hooks.apply_start("a.b", "update", ID)
    hooks.apply_complete("a.b", "update", ID, 0.2)
    hooks.apply_start("a.c", "no-op")
    hooks.apply_complete("a.c", "no-op")
    hooks.apply_start('module.m["k"].a.c[0]', "create")
    hooks.provision_start('module.m["k"].a.c[0]', "local-exec")
    hooks.provision_progress('module.m["k"].a.c[0]', "local-exec", "one  \n\n two\r\nthree")
    hooks.provision_complete('module.m["k"].a.c[0]', "local-exec")
    hooks.apply_complete('module.m["k"].a.c[0]', "create", ID, 65.0)
    hooks.apply_start("a.d", "delete", ID, deposed="0a1b2c3d")
    hooks.apply_errored("a.d", "delete", 1.0, deposed="0a1b2c3d")
    hooks.apply_start("data.x.y", "read")
    hooks.apply_complete("data.x.y", "read", None, 0.0)
    hooks.ephemeral_start("ephemeral.x.y", "open")
    hooks.ephemeral_complete("ephemeral.x.y", "open")
    hooks.import_planned("a.e", "ext")
    hooks.import_start("a.e", "ext")
    hooks.import_complete("a.e", "ext")


HUMAN = """a.b: Refreshing state... [id=i-1]
a.b: Modifying... [id=i-1]
a.b: Modifications complete after 0s [id=i-1]
module.m["k"].a.c[0]: Creating...
module.m["k"].a.c[0]: Provisioning with 'local-exec'...
module.m["k"].a.c[0] (local-exec): one
module.m["k"].a.c[0] (local-exec):  two
module.m["k"].a.c[0] (local-exec): three
module.m["k"].a.c[0]: Creation complete after 1m5s [id=i-1]
a.d (deposed object 0a1b2c3d): Destroying... [id=i-1]
data.x.y: Reading...
data.x.y: Read complete after 0s
ephemeral.x.y: Opening...
ephemeral.x.y: Open complete after 0s
a.e: Preparing import... [id=ext]
a.e: Importing... [id=ext]
a.e: Import complete [id=ext]
"""


def test_human():
    screen = make_terminal()
    story(HumanHooks(screen))
    assert screen.stdout.getvalue() == HUMAN
    assert screen.stderr.getvalue() == ""


def lines_of(tell):
    stream = io.StringIO()
    tell(JsonLines(stream))
    return [json.loads(line) for line in stream.getvalue().split("\n") if line]


def test_json():
    found = lines_of(lambda lines: story(JsonHooks(lines)))
    assert [line["type"] for line in found] == [
        "refresh_start",
        "refresh_complete",
        "apply_start",
        "apply_complete",
        "apply_start",
        "provision_start",
        *["provision_progress"] * 3,
        "provision_complete",
        "apply_complete",
        "apply_start",
        "apply_errored",
        "apply_start",
        "apply_complete",
        "ephemeral_action_started",
        "ephemeral_action_complete",
    ]
    assert all(list(line)[:4] == ["@level", "@message", "@module", "@timestamp"] for line in found)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["@timestamp"]) for line in found)
    assert found[3]["hook"] == {
        "resource": {
            "addr": "a.b",
            "module": "",
            "resource": "a.b",
            "implied_provider": "a",
            "resource_type": "a",
            "resource_name": "b",
            "resource_key": None,
        },
        "action": "update",
        "id_key": "id",
        "id_value": "i-1",
        "elapsed_seconds": 0,
    }
    assert found[4]["hook"]["resource"]["module"] == 'module.m["k"]'
    assert found[4]["hook"]["resource"]["resource"] == "a.c[0]"
    assert found[4]["hook"]["resource"]["resource_key"] == 0
    assert found[13]["@message"] == "data.x.y: Refreshing..."
    assert found[6]["hook"]["output"] == "one"


def test_json_version_and_diagnostics():
    def tell(lines):
        lines.version()
        lines.log("remark")
        lines.diagnostics([error("x", "Bad", "Worse.")])

    version, log, problem = lines_of(tell)
    assert version["type"] == "version"
    assert version["ui"] == json_ui.UI_VERSION == "1.2"
    assert log["@message"] == "remark"
    assert problem["@level"] == "error"
    assert problem["@message"] == "Error: Bad"
    assert problem["diagnostic"]["summary"] == "Bad"


CHANGE = {"mode": "managed", "type": "a", "provider_name": "p"}


def test_json_plan():
    data = {
        "resource_changes": [
            {**CHANGE, "name": "b", "address": "a.b", "change": {"actions": ["no-op"], "before": {}, "after": {}}},
            {
                **CHANGE,
                "name": "c",
                "address": "a.c",
                "previous_address": "a.old",
                "change": {"actions": ["no-op"], "before": {}, "after": {}},
            },
            {
                **CHANGE,
                "name": "d",
                "address": "a.d",
                "action_reason": "replace_because_tainted",
                "change": {"actions": ["delete", "create"], "before": {}, "after": {}},
            },
            {**CHANGE, "name": "e", "address": "a.e", "change": {"actions": ["forget"], "before": {}, "after": None}},
            {
                **CHANGE,
                "name": "f",
                "address": "a.f",
                "change": {"actions": ["no-op"], "before": {}, "after": {}, "importing": {"id": "x"}},
            },
        ],
        "output_changes": {"o": {"actions": ["create"], "before": None, "after": 1}},
    }
    found = lines_of(lambda lines: lines.plan(from_json.plan(data)))
    changes = [line["change"] for line in found if line["type"] == "planned_change"]
    assert [(c["resource"]["addr"], c["action"]) for c in changes] == [
        ("a.c", "move"),
        ("a.d", "replace"),
        ("a.e", "remove"),
        ("a.f", "import"),
    ]
    assert changes[0]["previous_resource"]["addr"] == "a.old"
    assert changes[1]["reason"] == "tainted"
    assert changes[3]["importing"] == {"id": "x"}
    assert found[-2]["changes"] == {
        "add": 1,
        "change": 0,
        "import": 1,
        "remove": 1,
        "forget": 1,
        "operation": "plan",
    }
    assert found[-2]["@message"] == "Plan: 1 to import, 1 to add, 0 to change, 1 to destroy, 1 to forget."
    assert found[-1]["outputs"] == {"o": {"sensitive": False, "action": "create"}}


def test_json_outputs_leave_sensitive_values_out():
    outputs = from_json.outputs(
        {"s": {"value": "x", "type": "string", "sensitive": True}, "p": {"value": 1, "type": "number"}}
    )
    (line,) = lines_of(lambda lines: lines.outputs(outputs))
    assert line["outputs"] == {
        "p": {"sensitive": False, "type": "number", "value": 1},
        "s": {"sensitive": True, "type": "string"},
    }


def test_long_operations_are_reported_until_they_end():
    told = []
    running = StillRunning(lambda key, elapsed: told.append((key, elapsed)), interval=0.02)
    running.start("a")
    deadline = time.monotonic() + 5
    while len(told) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert running.stop("a") >= 0.04
    count = len(told)
    time.sleep(0.08)
    assert len(told) <= count + 1
    assert {key for key, _ in told} == {"a"}
    assert told[1][1] > told[0][1]


def test_progress_line_is_for_terminals_and_goes_away():
    screen = make_terminal(terminal=True)
    line = ProgressLine(screen)
    line.AFTER = line.EVERY = 0.0
    line.start("plan", 4)
    line.update(1, 4)
    assert "plan: 1 of 4 steps (25%)" in screen.stderr.getvalue()
    line.stop()
    assert screen.stderr.getvalue().endswith("\r\x1b[2K")
    other = make_terminal()
    quiet = ProgressLine(other)
    quiet.AFTER = 0.0
    quiet.start("plan", 4)
    quiet.update(1, 4)
    assert other.stderr.getvalue() == ""


def test_the_longest_operation_is_named(monkeypatch):
    for hooks in (ProgressHooks(make_terminal(terminal=True)), HumanHooks(make_terminal(terminal=True))):
        line = hooks._progress
        line.AFTER = line.EVERY = 0.0
        hooks.walk_start("apply", 8)
        hooks.apply_start("a.slow", "create")
        hooks.refresh_start("a.fast")
        hooks.walk_progress(2, 8)
        text = line.terminal.stderr.getvalue()
        assert "apply: 2 of 8 steps (25%) [==        ] 0s, longest 0s: a.slow" in text
        hooks.apply_complete("a.slow", "create")
        assert "longest 0s: a.fast" in line.text(line._began)
        hooks.refresh_complete("a.fast")
        assert line.text(line._began).endswith("] 0s")
        hooks.walk_complete()
    monkeypatch.setenv("TERM", "dumb")
    dumb = ProgressHooks(make_terminal(terminal=True))
    dumb.walk_start("plan", 1)
    dumb.walk_progress(1, 1)
    assert not dumb.shows_progress() and dumb._progress.terminal.stderr.getvalue() == ""


def test_the_line_goes_on_while_nothing_ends():
    screen = make_terminal(terminal=True)
    line = ProgressLine(screen)
    line.TICK = 0.01
    line.start("plan", 4)
    deadline = time.monotonic() + 5
    while screen.stderr.getvalue().count("plan: 0 of 4") < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    line.stop()
    assert screen.stderr.getvalue().count("plan: 0 of 4") >= 2 and screen.stderr.getvalue().endswith("\r\x1b[2K")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_told_to_those_who_show_it(terminal):
    human = HumanHooks(make_terminal(terminal=terminal))
    assert human.shows_progress() is terminal
    assert HookGroup([Hooks(), human]).shows_progress() is terminal
    assert HookGroup([HookGroup([human]), Hooks()]).shows_progress() is terminal
    assert not HookGroup([Hooks()]).shows_progress()


def test_group_passes_every_call_on():
    calls = []

    class Listener(Hooks):
        def apply_start(self, address, action, identity=None, deposed=""):
            calls.append((address, action))

        def log(self, message):
            calls.append(message)

    group = HookGroup([Listener(), Listener()])
    story(group)
    group.log("x")
    assert calls.count("x") == 2
    assert calls.count(("a.b", "update")) == 2


def test_words():
    assert [duration_text(s) for s in (0.2, 59.6, 61, 7200)] == ["0s", "1m0s", "1m1s", "2h0m0s"]
    assert output_lines("a \r\n\rb") == ["a", "b"]


def test_json_lines_report_progress_until_the_end() -> None:
    def work(lines: JsonLines) -> None:
        hooks = JsonHooks(lines)
        hooks._running._interval = 0.01
        hooks.apply_start("a.b", "create")
        time.sleep(0.05)
        hooks.apply_complete("a.b", "create", ID, 0.05)
        time.sleep(0.03)

    kinds = [line["type"] for line in lines_of(work)]
    assert kinds[0] == "apply_start" and kinds[-1] == "apply_complete" and kinds.count("apply_progress") > 1
