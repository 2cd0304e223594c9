"""The provider protocol against a real plugin process, in both versions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from provider.plugins import SOURCE, is_alive, override, pids, write_plugin

from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.schema import empty_value, implied_type
from planner.foundation.values.types import DYNAMIC, NUMBER, STRING, ListType, MapType, ObjectType, SetType
from planner.foundation.values.value import List, Map, Null, Set, Unknown
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.language.functions.protocol import FunctionError, call
from planner.world.provider.builtin import BuiltinProvider
from planner.world.provider.conformity import without_removed
from planner.world.provider.interface import ApplyRequest, MoveRequest, PlanRequest
from planner.world.provider.plugin import schema_parts
from planner.world.provider.plugin.provider import PluginProvider
from planner.world.provider.propose import proposed_new


@pytest.fixture(params=[5, 6])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return override(monkeypatch, tmp_path, protocol)


@pytest.fixture
def plugin(world: Path) -> Iterator[PluginProvider]:
    found = PluginProvider(SOURCE, [str(world.parent / "bin" / "terraform-provider-test")])
    yield found
    found.close()
    assert not any(map(is_alive, pids(world) if (world / "started").exists() else []))


def config(plugin: PluginProvider, **given: Any) -> dict[str, Any]:
    return {**empty_value(plugin.schema().resources["test_thing"].block), "name": "a", **given}


def plan(plugin: PluginProvider, config: Any, prior: Any = None) -> Any:
    block = plugin.schema().resources["test_thing"].block
    prior = Null(implied_type(block)) if prior is None else prior
    return plugin.plan(PlanRequest("test_thing", prior, proposed_new(block, prior, config), config, None))


def create(plugin: PluginProvider, **given: Any) -> Any:
    wanted = config(plugin, **given)
    answer = plan(plugin, wanted)
    assert answer.diagnostics == ()
    absent = Null(implied_type(plugin.schema().resources["test_thing"].block))
    return plugin.apply(ApplyRequest("test_thing", absent, answer.planned, wanted, answer.private))


def test_the_schema(plugin: PluginProvider, protocol: int) -> None:
    schema = plugin.schema()
    assert list(schema.resources) == ["test_named", "test_thing"] and "odd" not in schema.resources
    found = schema.resources["test_thing"]
    assert found is schema.resources["test_thing"] and found.version == 1
    block = found.block
    assert implied_type(block).attributes["zones"] == SetType(STRING)
    assert block.attributes["anything"].type is DYNAMIC
    flags = ("required", "optional", "computed", "sensitive", "write_only", "deprecated")
    for name, wanted in [
        ("name", {"required"}),
        ("id", {"computed"}),
        ("note", {"optional", "computed"}),
        ("secret", {"optional", "sensitive"}),
        ("password_wo", {"optional", "write_only"}),
        ("old", {"optional", "deprecated"}),
    ]:
        assert {flag for flag in flags if getattr(block.attributes[name], flag)} == wanted
    region = block.attributes["region"]
    assert (region.description, region.description_kind) == ("where it **is**", "markdown")
    nestings = {name: nested.nesting for name, nested in block.blocks.items()}
    assert nestings.items() >= {"limit": "single", "rule": "list", "label": "set"}.items()
    assert block.blocks["rule"].max_items == 3
    if protocol == 6:
        assert nestings.items() >= {"disk": "map", "place": "group"}.items()
        item = ObjectType({"host": STRING, "port": NUMBER})
        types = implied_type(block).attributes
        assert (types["endpoint"], types["listeners"]) == (item, ListType(item))
        assert (types["peers"], types["routes"]) == (SetType(item), MapType(item))
    assert schema.provider.ephemeral and schema.ephemeral["test_token"].block.ephemeral
    assert not block.ephemeral
    assert schema.data_sources["test_thing"].block.attributes["id"].required


def test_create_read_update_replace_destroy(plugin: PluginProvider, world: Path) -> None:
    made = create(plugin, size=3, zones=Set(STRING, ("x", "y")), tags=Map(STRING, {"k": "v"}), password_wo="secret")
    assert made.diagnostics == () and not made.legacy_type_system
    assert (made.value["id"], made.value["note"]) == ("thing-a", "by the provider")
    assert made.private == "cHJpdmF0ZSAA/w=="
    assert made.value["password_wo"] == Null(STRING) and (world / "password").read_text() == "secret"

    read = plugin.read("test_thing", made.value, made.private)
    assert (read.value, read.private, read.diagnostics) == (made.value, made.private, ())
    assert plugin.read("test_thing", made.value, None).private == "cmVhZA=="

    wanted = config(plugin, size=4)
    answer = plan(plugin, wanted, made.value)
    assert answer.requires_replace == () and answer.planned["size"] == 4
    assert answer.planned["id"] == "thing-a"
    updated = plugin.apply(ApplyRequest("test_thing", made.value, answer.planned, wanted, answer.private))
    assert updated.value["size"] == 4

    answer = plan(plugin, config(plugin, region="us"), updated.value)
    assert answer.requires_replace == ((("attr", "region"),),)

    block = plugin.schema().resources["test_thing"].block
    absent = Null(implied_type(block))
    answer = plugin.plan(PlanRequest("test_thing", updated.value, absent, absent, updated.private))
    assert (answer.planned, answer.private) == (absent, "ZGVzdHJveQ==")
    gone = plugin.apply(ApplyRequest("test_thing", updated.value, absent, Null(DYNAMIC), answer.private))
    assert (gone.value, gone.diagnostics) == (absent, ())
    assert plugin.read("test_thing", updated.value, None).value == absent


def test_unknown_values_go_there_and_back(plugin: PluginProvider) -> None:
    rules = plugin.schema().resources["test_thing"].block.blocks["rule"]
    item = implied_type(rules.block)
    wanted = config(plugin, name=Unknown(STRING), rule=List(item, ({"port": Unknown(NUMBER), "made": Null(STRING)},)))
    answer = plan(plugin, wanted)
    assert answer.diagnostics == ()
    assert answer.planned["id"].__class__ is Unknown and answer.planned["name"].__class__ is Unknown
    assert answer.planned["rule"].items[0] == {"port": Unknown(NUMBER), "made": Unknown(STRING)}


def test_diagnostics_have_paths(plugin: PluginProvider) -> None:
    def validate(**given: Any) -> list[tuple[str, str, Any]]:
        found = plugin.validate_resource("managed", "test_thing", config(plugin, **given))
        return [(d.severity, d.summary, d.path) for d in found]

    assert validate() == []
    assert validate(fail="validate") == [("error", "Bad name", (("attr", "name"),))]
    steps = (("attr", "rule"), ("index", 0), ("attr", "port"))
    assert validate(fail="validate-rule") == [("error", "Bad port", steps)]
    assert validate(fail="warn") == [("warning", "Careful", ())]
    failed = create(plugin, fail="apply")
    assert [(d.summary, d.path) for d in failed.diagnostics] == [("No luck", (("attr", "name"),))]
    assert failed.value.__class__ is Null
    partial = create(plugin, fail="partial")
    assert [d.summary for d in partial.diagnostics] == ["Half done"] and partial.value["id"] == "thing-a"


def test_configuration(plugin: PluginProvider) -> None:
    nothing = empty_value(plugin.schema().provider)
    assert plugin.configure({**nothing, "prefix": "mine"}) == []
    assert create(plugin).value["id"] == "mine-a"
    assert [d.summary for d in plugin.validate_provider({**nothing, "fail": "validate"})] == ["Bad provider"]
    assert [d.summary for d in plugin.configure({**nothing, "fail": "validate"})] == ["Bad provider"]
    assert [d.summary for d in plugin.configure({**nothing, "fail": "configure"})] == ["Cannot sign in"]


def test_import_and_data(plugin: PluginProvider) -> None:
    assert [d.summary for d in plugin.import_object("test_thing", "thing-a")[1]] == ["Nothing to import"]
    made = create(plugin, size=1)
    (found,), problems = plugin.import_object("test_thing", "thing-a")
    assert (found.type, found.value, found.private, problems) == ("test_thing", made.value, "aW1wb3J0ZWQ=", [])
    wanted = {"id": "thing-a", "name": Null(STRING), "fail": Null(STRING)}
    assert plugin.validate_resource("data", "test_thing", wanted) == []
    assert plugin.read_data("test_thing", wanted).value == {**wanted, "name": "a"}
    missing = plugin.read_data("test_thing", {**wanted, "id": "x"})
    assert [(d.summary, d.path) for d in missing.diagnostics] == [("No such thing", (("attr", "id"),))]


def test_upgrade(plugin: PluginProvider) -> None:
    from planner.foundation.values.json_codec import to_json

    value = config(plugin, size=2)
    recorded = to_json(value, implied_type(plugin.schema().resources["test_thing"].block))
    assert plugin.upgrade("test_thing", 1, {**recorded, "gone": 1}) == (value, [])
    old = {**recorded, "title": recorded["name"]}
    del old["name"]
    assert plugin.upgrade("test_thing", 0, old) == (value, [])
    broken, problems = plugin.upgrade("test_thing", 0, recorded)
    assert broken.__class__ is Null and "failed" in problems[0].summary


def test_removed_attributes_are_left_out_at_any_depth() -> None:
    item = ObjectType({"a": STRING})
    wanted = ObjectType({"l": ListType(item), "m": MapType(item), "d": DYNAMIC})
    given = {"l": [{"a": 1, "b": 2}], "m": {"k": {"b": 2}}, "d": {"b": 1}, "x": 1}
    assert without_removed(given, wanted) == {"l": [{"a": 1}], "m": {"k": {}}, "d": {"b": 1}}


def test_functions(plugin: PluginProvider) -> None:
    function = plugin.schema().functions["double"]
    assert (function.return_type, function.summary) == (NUMBER, "Twice the sum")
    context: Any = None
    assert call(function, [2], context) == 4
    assert call(function, ["2", 3, 4], context) == 18
    assert call(function, [Unknown(NUMBER)], context) == Unknown(NUMBER)
    with pytest.raises(FunctionError, match="it is negative") as failed:
        call(function, [1, 2, -3], context)
    assert failed.value.argument == 2


def test_providers_that_break_the_rules(plugin: PluginProvider) -> None:
    kept = plan(plugin, config(plugin, fail="write-only"))
    assert [d.summary for d in kept.diagnostics] == ["Invalid provider response"]
    assert "test_thing.password_wo" in kept.diagnostics[0].detail
    assert plan(plugin, config(plugin, fail="legacy")).legacy_type_system
    assert "no type odd" in plugin.validate_resource("managed", "odd", {})[0].detail
    bad = plugin.validate_resource("managed", "test_thing", config(plugin, size=True))
    assert "a number is required, not a bool" in bad[0].detail
    assert plugin.read("odd", {}, None).diagnostics and plugin.read_data("odd", {}).diagnostics
    assert plugin.import_object("odd", "x")[1] and plugin.upgrade("odd", 0, {})[1]


@pytest.mark.parametrize("protocol", [6], indirect=True)
def test_a_crash_is_told_with_the_last_words(plugin: PluginProvider, world: Path) -> None:
    answer = plan(plugin, config(plugin, fail="crash-plan"))
    (problem,) = answer.diagnostics
    assert problem.severity == "error" and problem.path is None
    assert SOURCE in problem.detail and "PlanResourceChange: exit status 2." in problem.detail
    assert "panic: the test wants it\n  goroutine" in problem.detail and "some log line" not in problem.detail
    again = plan(plugin, config(plugin))
    assert [d.summary for d in again.diagnostics] == ["Provider plugin failed"]
    other = PluginProvider(SOURCE, [str(write_plugin(world.parent / "bin"))])
    crashed = create(other, fail="crash-apply")
    other.close()
    assert crashed.value.__class__ is Null and "ApplyResourceChange" in crashed.diagnostics[0].detail


@pytest.mark.parametrize("protocol", [5], indirect=True)
def test_a_hang_ends_at_the_time_limit(plugin: PluginProvider, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin.schema()
    monkeypatch.setenv("PLANNER_PROVIDER_TIMEOUT", "1")
    answer = plan(plugin, config(plugin, fail="hang-plan"))
    assert "did not respond to the call PlanResourceChange within 1 seconds" in answer.diagnostics[0].detail
    assert not any(map(is_alive, pids(world)))


@pytest.mark.parametrize("protocol", [6], indirect=True)
def test_stop_reaches_a_running_call_and_close_waits_for_one(plugin: PluginProvider, world: Path) -> None:
    answers: list[Any] = []
    for end in (plugin.stop, plugin.close):
        for name in ("slow", "stopped"):
            (world / name).unlink(missing_ok=True)
        wanted = config(plugin, fail="slow-plan")
        thread = threading.Thread(target=lambda wanted=wanted: answers.append(plan(plugin, wanted)))
        thread.start()
        limit = time.monotonic() + 10
        while not (world / "slow").exists():
            assert time.monotonic() < limit
            time.sleep(0.01)
        end()
        if end == plugin.close:
            assert thread.is_alive()
            (world / "stopped").touch()
        thread.join(10)
        assert not thread.is_alive()
    assert [answer.diagnostics for answer in answers] == [(), ()]


@pytest.mark.parametrize("protocol", [5], indirect=True)
@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("crash", "exit status 1.\n\nIts last output:\n  cannot start today"),
        ("babble", "not a handshake: 'hello, world'"),
    ],
)
def test_a_plugin_that_does_not_start(
    plugin: PluginProvider, start: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PROVIDER_START", start)
    with pytest.raises(Failure) as failure:
        plugin.schema()
    (problem,) = failure.value.diagnostics
    assert problem.code == "provider.plugin" and SOURCE in problem.detail and text in problem.detail


@pytest.mark.parametrize("protocol", [6], indirect=True)
def test_a_plugin_with_a_certificate(plugin: PluginProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PROVIDER_START", "tls")
    assert create(plugin).value["id"] == "thing-a"


@pytest.mark.parametrize("protocol", [6], indirect=True)
def test_a_large_schema_passes(plugin: PluginProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PROVIDER_BIG", "8000")
    schema = plugin.schema()
    assert len(schema.resources) == 8002
    assert schema.resources["test_big_7999"].block.attributes["name"].required


def test_a_schema_is_kept_by_the_identity_of_its_file(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file here only stands for the program; that of the tests is a script, whose answers are never kept."""
    program = tmp_path / "bin" / "terraform-provider-test"
    stand_in = tmp_path / "program"
    stand_in.write_bytes(b"\x7fELF")
    for known in (False, True):
        plugin = PluginProvider(SOURCE, [str(program)], str(stand_in))
        assert plugin.schema().resources["test_thing"].version == 1
        assert (plugin._client is None) == known
        plugin.close()
    plugin = PluginProvider(SOURCE, [str(program)], str(stand_in))
    assert create(plugin).value["id"] == "thing-a"
    plugin.close()
    assert schema_parts.load_parts(str(program)) is None
    assert schema_parts.load_parts(str(stand_in)) is not None
    stand_in.write_bytes(b"\x7fELF, newer")
    assert schema_parts.load_parts(str(stand_in)) is None


def test_identities(plugin: PluginProvider) -> None:
    schema = plugin.schema().resources["test_named"]
    assert schema.identity is not None
    assert {name: (a.required, a.optional) for name, a in schema.identity.attributes.items()} == {
        "name": (True, False),
        "region": (False, True),
    }
    assert schema.identity_version == 1
    assert plugin.schema().resources["test_thing"].identity is None
    known = {"name": "n", "region": "here"}
    assert plugin.upgrade_identity("test_named", 0, {"title": "n"}) == (known, [])
    (found,), problems = plugin.import_object("test_named", "", {"name": "n", "region": Null(STRING)})
    assert (found.value, found.identity, problems) == ({"id": "n", "name": "n"}, known, [])
    assert plugin.read("test_named", found.value, None, known).identity == known


def test_moving_between_types(plugin: PluginProvider) -> None:
    request = MoveRequest("example.com/a/other", "other_thing", 3, {"title": "n"}, False, "cHJpdg==", "test_named")
    answer = plugin.move(request)
    assert (answer.value, answer.private) == ({"id": "n", "name": "n"}, "bW92ZWQgcHJpdg==")
    refused = plugin.move(evolve(request, source_type="more"))
    assert [d.summary for d in refused.diagnostics] == ["Cannot move that"]


def test_ephemeral_resources(plugin: PluginProvider) -> None:
    opened = plugin.open("test_token", {"name": "t", "value": Null(STRING)})
    assert opened.value == {"name": "t", "value": "opened"}
    assert (opened.private, opened.renew_at, opened.diagnostics) == (b"open", None, ())
    assert plugin.open("test_token", {"name": "renewed", "value": Null(STRING)}).renew_at is not None
    assert plugin.renew("test_token", opened.private).private == b"renewed"
    assert plugin.close_ephemeral("test_token", b"renewed") == []
    locked = plugin.open("test_token", {"name": "locked", "value": Null(STRING)})
    assert [d.path for d in locked.diagnostics] == [(("attr", "name"),)]


def test_alike_configurations_are_checked_once_before_and_once_after_the_provider_is_configured(
    plugin: PluginProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    send = plugin._send

    def counted(name: str, message: Any, quick: bool) -> Any:
        asked.append(name)
        return send(name, message, quick)

    monkeypatch.setattr(plugin, "_send", counted)
    good, bad = config(plugin), config(plugin, fail="warn")
    for _ in range(3):
        assert not plugin.validate_resource("managed", "test_thing", good)
        assert plugin.validate_resource("managed", "test_thing", bad)
    assert asked.count("ValidateResourceConfig") == 1 + 3
    assert plugin.configure(empty_value(plugin.schema().provider)) == []
    for _ in range(2):
        assert not plugin.validate_resource("managed", "test_thing", good)
    assert asked.count("ValidateResourceConfig") == 2 + 3


def test_who_ends_a_plugin_waits_for_the_calls_of_others(plugin: PluginProvider, world: Path) -> None:
    answers: list[Any] = []
    wanted = config(plugin, fail="slow-plan")
    asking = threading.Thread(target=lambda: answers.append(plan(plugin, wanted)))
    asking.start()
    while not (world / "slow").exists():
        time.sleep(0.01)
    plugin.close()
    (world / "stopped").touch()
    asking.join()
    assert answers[0].diagnostics == () and not is_alive(pids(world)[0])
    assert plan(plugin, wanted).diagnostics == ()  # by another process
    assert len(pids(world)) == 2


def test_work_beside_other_work_has_providers_of_its_own() -> None:
    started: list[str] = []
    ended: list[int] = []

    class Counted(BuiltinProvider):
        def __init__(self) -> None:
            super().__init__()
            self.number = len(started)
            started.append("")

        def close(self) -> None:
            ended.append(self.number)

    schemas = Schemas(lambda source: Counted())
    schemas.schema(BUILTIN)
    first, second = schemas.lent(), schemas.lent()
    assert first.schema(BUILTIN) is schemas.schema(BUILTIN) and started == [""]
    assert first.provider(BUILTIN) is not second.provider(BUILTIN)
    first.close()
    assert ended == [1]
    assert second.new_provider(BUILTIN).number == 2 and ended == [1]  # type: ignore[attr-defined]


def test_an_infinite_number_is_not_taken(plugin: PluginProvider) -> None:
    (problem,) = plan(plugin, config(plugin, fail="infinite")).diagnostics
    assert problem.severity == "error"
    assert "the number size is infinite" in problem.detail
