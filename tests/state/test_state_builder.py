"""The working copy of a state: object by object, and back to a frozen state."""

from __future__ import annotations

from threading import Thread

from planner.world.state.build import StateBuilder
from planner.world.state.model import ObjectState, OutputState, State

PROVIDER = 'provider["terraform.io/builtin/terraform"]'


def obj(id: str) -> ObjectState:
    return ObjectState({"id": id})


def put(builder: StateBuilder, name: str, key: int | str | None, id: str, deposed: str = "", module: str = "") -> None:
    builder.set_object(module, "managed", "t", name, key, obj(id), PROVIDER, deposed=deposed)


def test_snapshot_sorts_instances_and_drops_what_is_empty() -> None:
    builder = StateBuilder()
    for key in (10, "b", 2, "a"):
        put(builder, "n", key, str(key))
    put(builder, "gone", None, "x")
    builder.remove_object("t.gone")
    builder.remove_object("t.never")
    state = builder.snapshot()
    assert list(state.resources) == ["t.n"]
    assert list(state.resources["t.n"].instances) == [2, 10, "a", "b"]


def test_snapshots_are_frozen() -> None:
    builder = StateBuilder(State(serial=4, lineage="l"))
    put(builder, "n", None, "a")
    first = builder.snapshot()
    put(builder, "n", None, "b")
    builder.set_output("o", OutputState(1, None))  # type: ignore[arg-type]
    assert first.resources["t.n"].instances[None].current.attributes == {"id": "a"}  # type: ignore[union-attr]
    assert first.outputs == {}
    second = builder.snapshot()
    assert second.resources["t.n"].instances[None].current.attributes == {"id": "b"}  # type: ignore[union-attr]
    assert (second.serial, second.lineage) == (4, "l")


def test_depose_and_restore() -> None:
    builder = StateBuilder()
    put(builder, "n", None, "a")
    key = builder.depose("t.n")
    assert len(key) == 8
    assert builder.object("t.n") is None
    assert builder.object("t.n", None, key).attributes == {"id": "a"}  # type: ignore[union-attr]
    assert builder.depose("t.n") == ""
    assert builder.restore("t.n", None, key)
    assert builder.object("t.n").attributes == {"id": "a"}  # type: ignore[union-attr]
    assert not builder.restore("t.n", None, key)
    key = builder.depose("t.n")
    put(builder, "n", None, "b")
    assert not builder.restore("t.n", None, key)
    builder.remove_object("t.n", None, key)
    assert builder.instance("t.n").deposed == {}  # type: ignore[union-attr]


def test_move() -> None:
    builder = StateBuilder()
    put(builder, "n", None, "a")
    put(builder, "n", None, "old", deposed="0a0a0a0a")
    builder.move("t.n", None, "module.m[0]", "managed", "t", "other", "k")
    state = builder.snapshot()
    assert list(state.resources) == ["module.m[0].t.other"]
    instance = state.resources["module.m[0].t.other"].instances["k"]
    assert instance.key == "k"
    assert list(instance.deposed) == ["0a0a0a0a"]
    assert state.resources["module.m[0].t.other"].provider == PROVIDER


def test_threads_do_not_lose_objects() -> None:
    builder = StateBuilder()

    def work(start: int) -> None:
        for key in range(start, start + 200):
            put(builder, "n", key, str(key))
            builder.snapshot()

    threads = [Thread(target=work, args=(n * 200,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(builder.snapshot().resources["t.n"].instances) == list(range(800))


def test_declared_resources_stay_without_objects() -> None:
    builder = StateBuilder()
    builder.declare("", "managed", "terraform_data", "a", PROVIDER)
    builder.set_object("", "managed", "terraform_data", "b", None, ObjectState({}), PROVIDER)
    assert {address: len(r.instances) for address, r in builder.snapshot().resources.items()} == {
        "terraform_data.a": 0,
        "terraform_data.b": 1,
    }
    builder.remove_object("terraform_data.b")
    assert list(builder.snapshot().resources) == ["terraform_data.a"]
    builder.remove_empty()
    assert builder.snapshot().resources == {}
