"""Applying plans: what is done, in which order, what is told, and what the state says after success and failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from applying import World, counts, summaries

from planner.engine.apply.shared_work import ApplyOptions
from planner.engine.walk.hooks import Hooks
from planner.engine.walk.machine import StopSignal
from planner.world.state.file import state_document
from planner.world.state.journal import Journal, read_journal, replay
from planner.world.state.model import State

AB = """
resource "test_thing" "a" {{
  size = "{a}"
  zone = "{zone}"
  {more}
}}
resource "test_thing" "b" {{
  size = "b"
  secret = test_thing.a.id
}}
output "b" {{
  value     = test_thing.b.secret
  sensitive = true
}}
"""


def ab(a: str = "1", zone: str = "x", more: str = "") -> str:
    return AB.format(a=a, zone=zone, more=more)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# ---------------------------------------------------------------- the life of objects


def test_create_update_replace_destroy(world: World) -> None:
    done = world.apply(ab())
    assert counts(done) == (2, 0, 0)
    assert world.events == [
        "create test_thing.a",
        "create test_thing.a done [id-1]",
        "create test_thing.b",
        "create test_thing.b done [id-b]",
    ]
    b = world.state.resources["test_thing.b"].instances[None].current
    assert b is not None
    assert (b.attributes["secret"], b.dependencies, b.private) == ("id-1", ("test_thing.a",), "ZG9uZQ==")
    assert b.sensitive_paths == ((("attr", "secret"),),)
    assert (world.state.outputs["b"].value, world.state.outputs["b"].sensitive) == ("id-1", True)
    assert counts(world.apply(ab())) == (0, 0, 0)
    assert world.provider.calls == []

    assert counts(world.apply(ab("2"))) == (0, 1, 0)
    assert world.events == ["update test_thing.a [id-1]", "update test_thing.a done [id-1]"]

    assert counts(world.apply(ab("3", "y"))) == (1, 1, 1)
    assert world.provider.calls == ["delete id-1", "apply 3 bmV3", "apply b b2xk"]

    done = world.apply(ab("3", "y"), mode="destroy")
    assert counts(done) == (0, 0, 2)
    assert world.provider.calls == ["delete id-b", "delete id-3"]
    assert done.state.is_empty


def test_new_object_first(world: World) -> None:
    cbd = "lifecycle {\n create_before_destroy = true\n }"
    world.apply(ab(more=cbd))
    assert counts(world.apply(ab("2", "y", cbd))) == (1, 1, 1)
    assert world.events == [
        "create test_thing.a",
        "create test_thing.a done [id-2]",
        "update test_thing.b [id-b]",
        "update test_thing.b done [id-b]",
        "delete test_thing.a deposed [id-1]",
        "delete test_thing.a done",
    ]
    a = world.state.resources["test_thing.a"].instances[None]
    assert a.current is not None
    assert (a.current.create_before_destroy, a.deposed) == (True, {})


def test_update_that_turns_out_to_change_nothing(world: World) -> None:
    world.apply(ab())
    text = ab().replace("test_thing.a.id", 'terraform_data.x.output == "" ? "" : "id-1"')
    done = world.apply(text + 'resource "terraform_data" "x" {\n input = "x"\n}\n')
    assert counts(done) == (1, 0, 0)
    assert world.provider.calls == []


def test_marks_are_no_business_of_the_provider(world: World) -> None:
    world.apply('resource "test_thing" "a" {\n size = "1"\n}\n')
    assert counts(world.apply('resource "test_thing" "a" {\n size = sensitive("1")\n}\n')) == (0, 1, 0)
    assert world.provider.calls == []
    record = world.state.resources["test_thing.a"].instances[None].current
    assert record is not None
    assert (("attr", "size"),) in record.sensitive_paths


def test_instances_that_are_no_longer_declared(world: World) -> None:
    text = (
        'resource "test_thing" "n" {{\n count = {n}\n size = count.index\n}}\n'
        'output "sizes" {{\n value = test_thing.n[*].size\n}}\n'
    )
    assert counts(world.apply(text.format(n=3))) == (3, 0, 0)
    assert counts(world.apply(text.format(n=1))) == (0, 0, 2)
    assert world.objects == {"test_thing.n[0]": "0"}
    assert world.state.outputs["sizes"].value == ("0",)


def test_import(world: World) -> None:
    text = 'import {\n to = test_thing.a\n id = "i"\n}\nresource "test_thing" "a" {\n size = "1"\n}\n'
    done = world.apply(text)
    assert (counts(done), done.counts.imports, world.events) == ((0, 0, 0), 1, ["import test_thing.a i"])


def test_forgetting(world: World) -> None:
    world.apply(ab())
    done = world.apply(
        "removed {\n from = test_thing.b\n lifecycle {\n destroy = false\n }\n}\n"
        + ab().split('resource "test_thing" "b"')[0]
    )
    assert (counts(done), done.counts.forget, world.objects, world.events) == ((0, 0, 0), 1, {"test_thing.a": "1"}, [])


@pytest.mark.parametrize("suppressed", [False, True])
def test_destroying_everything_but_what_is_kept(world: World, suppressed: bool) -> None:
    text = ab(more="lifecycle {\n destroy = false\n }")
    world.apply(text)
    options = ApplyOptions(suppress_forget_errors=suppressed)
    done = world.apply(text, options, mode="destroy")
    assert (counts(done), done.counts.forget, done.state.is_empty) == ((0, 0, 1), 1, True)
    assert len(done.diagnostics) == (0 if suppressed else 1)


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("size", "objects", "words"),
    [
        ("fail", {}, "error 3 No luck"),
        ("partial", {"test_thing.a": "partial?"}, "error 3 No luck"),
        ("odd", {"test_thing.a": "other?"}, "error 0 Provider produced inconsistent result after apply"),
        ("vague", {"test_thing.a": "vague?"}, "error 0 Provider returned invalid result object after apply"),
        ("gone", {}, "error 0 Provider produced inconsistent result after apply"),
    ],
)
def test_failed_creation(world: World, size: str, objects: dict[str, str], words: str) -> None:
    done = world.apply(ab(size))
    assert summaries(done) == [words]
    assert (world.objects, counts(done)) == (objects, (0, 0, 0))
    assert world.events == ["create test_thing.a", "create test_thing.a failed"]
    assert "b" not in world.state.outputs


def test_failed_update_keeps_what_is_known(world: World) -> None:
    world.apply(ab())
    world.apply(ab("fail"))
    assert world.objects["test_thing.a"] == "1"
    world.apply(ab("partial"))
    assert world.objects["test_thing.a"] == "partial"


def test_failed_destruction(world: World) -> None:
    world.apply(ab("stuck"))
    done = world.apply(ab("1", "y"))
    assert (world.objects, counts(done)) == ({"test_thing.a": "stuck", "test_thing.b": "b"}, (0, 0, 0))
    assert world.events == ["delete test_thing.a [id-stuck]", "delete test_thing.a failed"]
    a = world.state.resources["test_thing.a"].instances[None].current
    assert a is not None


def test_failed_replacement_with_the_new_object_first(world: World) -> None:
    cbd = "lifecycle {\n create_before_destroy = true\n }"
    world.apply(ab("stuck", more=cbd))
    world.apply(ab("fail", "y", cbd))
    assert world.objects == {"test_thing.a": "stuck", "test_thing.b": "b"}
    world.apply(ab("partial", "y", cbd))
    assert world.objects == {"test_thing.a": "partial?", "test_thing.a deposed": "stuck", "test_thing.b": "b"}


def test_interrupted(world: World, tmp_path: Path) -> None:
    stop = StopSignal()

    class Interrupting(Journal):
        def end(self, number: int, durable: bool) -> None:
            super().end(number, durable)
            stop.request()

    journal = Interrupting(str(tmp_path / "j"), "l", 0, "apply")
    done = world.apply(ab(), ApplyOptions(stop=stop, journal=journal))
    assert summaries(done) == ["error 0 Execution halted"]
    assert list(done.state.resources) == ["test_thing.a"]


def test_parallel_work_gives_the_same_state(tmp_path: Path) -> None:
    text = 'resource "test_thing" "n" {\n count = 20\n size = count.index == 7 ? "partial" : count.index\n}\n'
    found = []
    for parallelism in (1, 8):
        folder = tmp_path / str(parallelism)
        folder.mkdir()
        world = World(folder, is_inline=False)
        done = world.apply(text, ApplyOptions(parallelism=parallelism))
        found.append((counts(done), summaries(done), world.objects))
    assert found[0] == found[1]
    assert found[0][0] == (19, 0, 0)


def test_the_journal_has_every_change_and_what_is_under_way(world: World, tmp_path: Path) -> None:
    path = str(tmp_path / "j")
    under_way: list[list[str]] = []

    class Watching(Journal):
        def end(self, number: int, durable: bool) -> None:
            recorded, problems = read_journal(path)
            assert recorded is not None
            assert not problems
            under_way.append([f"{begun.action} {begun.address}" for begun in recorded.in_flight])
            super().end(number, durable)

    done = world.apply(ab(), ApplyOptions(journal=Watching(path, "lineage", 3, "apply")))
    assert under_way == [["create test_thing.a"], ["create test_thing.b"]]
    recorded, problems = read_journal(path)
    assert recorded is not None
    assert not problems
    assert recorded.in_flight == []
    again = replay(State(), recorded)
    assert (again.lineage, again.serial) == ("lineage", 4)
    assert state_document(again)["resources"] == state_document(done.state)["resources"]


# ---------------------------------------------------------------- provisioners


def provisioners(*lines: str) -> str:
    return "\n".join(f'provisioner "local-exec" {{\n quiet = true\n {line}\n}}' for line in lines)


def test_provisioners(world: World) -> None:
    more = provisioners('command = "echo ${self.id}"', 'command = "echo ${self.size}"\n when = destroy')
    world.apply(ab(more=more))
    assert world.events[:5] == [
        "create test_thing.a",
        "provision test_thing.a",
        "output test_thing.a local-exec: Executing: Suppressed by quiet=true",
        "output test_thing.a id-1",
        "provision test_thing.a done",
    ]
    world.apply(ab("2", more=more))
    assert not any(event.startswith("provision") for event in world.events)
    world.apply(ab("2", more=more), mode="destroy")
    assert "output test_thing.a 2" in world.events


def test_failed_provisioners(world: World) -> None:
    more = provisioners('command = "exit 1"\n on_failure = continue', 'command = "exit 2"', 'command = "touch never"')
    done = world.apply(ab(more=more))
    assert summaries(done) == ["error 10 local-exec provisioner error"]
    assert world.objects == {"test_thing.a": "1?"}
    assert [e for e in world.events if e.startswith("provision")].count("provision test_thing.a failed") == 2
    assert not (world.folder / "never").exists()
    done = world.apply(ab())
    assert counts(done) == (2, 0, 1)
    assert world.objects == {"test_thing.a": "1", "test_thing.b": "b"}


def test_failed_provisioner_of_the_end(world: World) -> None:
    text = ab(more=provisioners('command = "exit 1"\n when = destroy'))
    world.apply(text)
    done = world.apply(text, mode="destroy")
    assert (counts(done), world.objects) == ((0, 0, 1), {"test_thing.a": "1"})
    assert world.provider.calls == ["delete id-b"]


def test_output_of_provisioners_with_secrets_is_hidden(world: World) -> None:
    world.apply(ab(more=provisioners('command = "echo ${sensitive("xyzzy")}"')))
    assert not any("xyzzy" in event for event in world.events)
    assert any("suppressed" in event for event in world.events)


def test_output_of_provisioners_with_secrets_on_request(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hooks, "show_sensitive", True)
    world.apply(ab(more=provisioners('command = "echo ${sensitive("xyzzy")}"')))
    assert any("xyzzy" in event for event in world.events)


# ---------------------------------------------------------------- conditions, data, outputs


def condition(kind: str, expression: str) -> str:
    return f'lifecycle {{\n {kind} {{\n condition = {expression}\n error_message = "No."\n }}\n}}'


def test_conditions_that_were_unknown(world: World) -> None:
    before = ab().replace("secret = ", condition("precondition", 'test_thing.a.id == "x"') + "\n  secret = ")
    done = world.apply(before)
    assert summaries(done) == ["error 11 Resource precondition failed"]
    assert world.objects == {"test_thing.a": "1"}
    after = ab().replace("secret = ", condition("postcondition", 'self.id == "x"') + "\n  secret = ")
    done = world.apply(after)
    assert summaries(done) == ["error 11 Resource postcondition failed"]
    assert world.objects == {"test_thing.a": "1", "test_thing.b": "b"}
    statuses = {found["config_addr"]: found["status"] for found in done.state.check_results or ()}
    assert statuses == {"test_thing.b": "fail"}


DATA = """
resource "test_thing" "a" {{
  size = "1"
}}
data "test_lookup" "d" {{
  name = {name}
}}
output "found" {{
  value = data.test_lookup.d.found
}}
"""


def test_data_sources(world: World) -> None:
    done = world.apply(DATA.format(name="test_thing.a.id"))
    assert world.events[-2:] == ["read data.test_lookup.d", "read data.test_lookup.d done [id-1]"]
    assert done.state.outputs["found"].value == "found id-1"
    assert "data.test_lookup.d" in done.state.resources
    world.apply(DATA.format(name="test_thing.a.id"), mode="destroy")
    assert world.state.is_empty


def test_data_source_that_cannot_be_read(world: World) -> None:
    done = world.apply(DATA.format(name='test_thing.a.id == "" ? "" : "nowhere"'))
    assert [d.summary for d in done.diagnostics] == ["Not found"]
    # what could not be made is known without objects
    assert {address: len(r.instances) for address, r in done.state.resources.items()} == {
        "test_thing.a": 1,
        "data.test_lookup.d": 0,
    }


def test_data_source_of_a_check(world: World) -> None:
    nested = """
check "c" {
  data "test_lookup" "n" {
    name = test_thing.a.id
  }
  assert {
    condition     = data.test_lookup.n.found == "found id-1"
    error_message = "No."
  }
}
"""
    text = 'resource "test_thing" "a" {\n size = "1"\n}\n'
    done = world.apply(text + nested)
    assert [found["status"] for found in done.state.check_results or ()] == ["pass"]
    done = world.apply(
        text.replace('"1"', '"2"') + nested.replace("test_thing.a.id", 'test_thing.a.size == "2" ? "nowhere" : ""')
    )
    assert [f"{d.severity} {d.summary}" for d in done.diagnostics] == ["warning Not found"]
    assert [found["status"] for found in done.state.check_results or ()] == ["fail"]


def test_outputs(world: World) -> None:
    world.apply('output "a" {\n value = [1, null]\n}\noutput "gone" {\n value = 1\n}\n')
    assert sorted(world.state.outputs) == ["a", "gone"]
    world.apply('output "a" {\n value = null\n}\noutput "b" {\n value = "b"\n}\n')
    assert {name: output.value for name, output in world.state.outputs.items()} == {"b": "b"}
    assert world.apply('output "b" {\n value = "b"\n}\n', mode="destroy").state.outputs == {}


def test_values_that_differ_from_call_to_call(world: World) -> None:
    done = world.apply(
        'resource "test_thing" "a" {\n size = length(uuid())\n}\noutput "t" {\n value = timestamp()\n}\n'
    )
    assert world.objects == {"test_thing.a": "36"}
    assert len(done.state.outputs["t"].value) == 20
