"""Kept schemas: used when they are those of the file, read type by type, and never trusted when they are not whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider.plugins import SOURCE, override, pids, write_plugin
from random_tests import examples

from planner.foundation.vocabulary.diagnostic import Failure
from planner.world.provider.interface import ResourceSchema
from planner.world.provider.locate import Located
from planner.world.provider.plugin import schema_parts
from planner.world.provider.plugin.messages import messages
from planner.world.provider.plugin.provider import PluginProvider
from planner.world.provider.plugin.schema_parts import DamagedSchema, take_apart
from planner.world.provider.registry import start_provider


class Kept:
    """A plugin whose file, as far as the cache knows, is a stand-in: the real one is a script."""

    def __init__(self, folder: Path, world: Path, protocol: int = 6) -> None:
        self.command = [str(write_plugin(folder / "bin", protocol))]
        self.stand_in = folder / "program"
        self.stand_in.write_bytes(b"\x7fELF")
        self.world = world
        self.entries = folder / "cache" / "planner" / "schemas"

    def start(self) -> PluginProvider:
        return PluginProvider(SOURCE, self.command, str(self.stand_in))

    def look(self, name: str = "test_thing") -> ResourceSchema:
        """One schema, in a run of its own."""
        plugin = self.start()
        try:
            return plugin.schema().resources[name]
        finally:
            plugin.close()

    @property
    def starts(self) -> int:
        """How many plugin processes there were."""
        return len(pids(self.world)) if (self.world / "started").exists() else 0

    def entry(self) -> Path:
        (found,) = self.entries.iterdir()
        return found


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PLANNER_NO_CACHE", raising=False)
    (tmp_path / "cache").mkdir()
    return Kept(tmp_path, override(monkeypatch, tmp_path))


def test_a_second_run_asks_nobody_and_sees_the_same(kept: Kept) -> None:
    first, again = kept.look(), kept.look()
    assert kept.starts == 1
    assert (first.version, repr(first.block)) == (again.version, repr(again.block))
    assert "name" in again.block.attributes and "rule" in again.block.blocks


def test_identities_and_functions_are_kept_with_it(kept: Kept) -> None:
    kept.look()
    plugin = kept.start()
    schema = plugin.schema()
    identity = schema.resources["test_named"].identity
    assert identity is not None and set(identity.attributes) == {"name", "region"}
    assert set(schema.functions) == {"double"} and set(schema.ephemeral) == {"test_token"}
    assert "prefix" in schema.provider.attributes and kept.starts == 1


def test_only_the_types_that_are_used_are_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PROVIDER_BIG", "500")
    kept.look()
    size = kept.entry().stat().st_size
    monkeypatch.setattr(os, "pread", spy := Spy())
    assert kept.look("test_big_77").version == 1
    assert kept.starts == 1
    assert 0 < spy.read < size / 100


class Spy:
    """os.pread, which tells how much was read."""

    def __init__(self) -> None:
        self.pread, self.read = os.pread, 0

    def __call__(self, file: int, size: int, at: int) -> bytes:
        self.read += size
        return self.pread(file, size, at)


@pytest.mark.parametrize("what", ["size", "time", "number"])
def test_another_file_is_asked_anew(kept: Kept, what: str) -> None:
    kept.look()
    if what == "size":
        kept.stand_in.write_bytes(b"\x7fELF, newer")
    elif what == "time":
        os.utime(kept.stand_in, ns=(1, 1))
    else:  # a file of the same size and time, put in its place
        old = kept.stand_in.stat()
        other = kept.stand_in.with_name("other")
        other.write_bytes(b"\x7fELF")
        os.utime(other, ns=(old.st_atime_ns, old.st_mtime_ns))
        os.replace(other, kept.stand_in)
    kept.look()
    assert kept.starts == 2


def damage(entry: Path, at: float) -> None:
    data = bytearray(entry.read_bytes())
    data[int(at * (len(data) - 1))] ^= 0xFF
    entry.write_bytes(data)


@pytest.mark.parametrize("at", [0.0, 0.003, 0.02, 0.1])
def test_a_damaged_list_of_places_is_ignored_and_written_anew(kept: Kept, at: float) -> None:
    first = kept.look()
    entry = kept.entry()
    good = entry.read_bytes()
    damage(entry, at)
    assert repr(kept.look().block) == repr(first.block)
    assert kept.starts == 2 and len(entry.read_bytes()) == len(good)
    kept.look()
    assert kept.starts == 2


def test_a_damaged_type_is_asked_anew_when_it_is_used(kept: Kept) -> None:
    first = kept.look()
    entry = kept.entry()
    data = bytearray(entry.read_bytes())
    at = data.rindex(b"password_wo")
    data[at] ^= 1
    entry.write_bytes(data)
    assert kept.look("test_named").identity is not None and kept.starts == 1
    assert repr(kept.look().block) == repr(first.block) and kept.starts == 2
    assert repr(kept.look().block) == repr(first.block) and kept.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 10, 39, 45, 500, -1])
def test_an_entry_that_was_cut_is_of_no_use(kept: Kept, size: int) -> None:
    kept.look()
    entry = kept.entry()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:size] if size >= 0 else whole[: len(whole) // 2])
    assert "name" in kept.look().block.attributes
    assert kept.starts == 2 and len(entry.read_bytes()) == len(whole)


def test_a_length_that_is_absurd(kept: Kept) -> None:
    kept.look()
    entry = kept.entry()
    entry.write_bytes(entry.read_bytes()[:32] + b"\xff" * 8 + b"rest")
    kept.look()
    assert kept.starts == 2


def test_where_nothing_can_be_kept_all_goes_on(kept: Kept) -> None:
    kept.entries.parent.mkdir()
    kept.entries.write_text("a file where the directory should be")
    assert kept.look().version == kept.look().version == 1
    assert kept.starts == 2


def test_the_cache_can_be_switched_off(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_NO_CACHE", "1")
    kept.look()
    kept.look()
    assert kept.starts == 2 and not kept.entries.exists()


def test_answers_of_scripts_are_not_kept(kept: Kept) -> None:
    kept.stand_in.write_bytes(b"#!/bin/sh\n")
    kept.look()
    kept.look()
    assert kept.starts == 2


def test_overridden_programs_are_kept_by_their_file_too(kept: Kept) -> None:
    provider = start_provider(SOURCE, lambda address: Located(str(kept.stand_in)))
    assert isinstance(provider, PluginProvider) and provider._keep_schema == str(kept.stand_in)


@pytest.mark.parametrize(("protocol", "asked"), [(5, 2), (6, 1)])
def test_a_plugin_that_needs_to_be_asked_is_asked_each_time_it_runs(
    tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch, protocol: int, asked: int
) -> None:
    """That of protocol 5 does not say that it can do without: get_provider_schema_optional."""
    kept = Kept(tmp_path, kept.world, protocol)
    calls: list[str] = []

    def note(self: object, name: str, *rest: object, **more: object) -> bytes:
        calls.append(name)
        return bytes(original(self, name, *rest, **more))  # type: ignore[arg-type]

    from planner.world.provider.plugin.client import PluginClient

    original = PluginClient.call_bytes
    monkeypatch.setattr(PluginClient, "call_bytes", note)
    for _ in range(2):
        plugin = kept.start()
        assert plugin.validate_resource("data", "test_thing", data_config(plugin)) == []
        plugin.close()
    assert calls.count("GetProviderSchema") == asked
    assert calls.count("GetResourceIdentitySchemas") == 1


def data_config(plugin: PluginProvider) -> dict[str, object]:
    from planner.foundation.values.value import Null

    attributes = plugin.schema().data_sources["test_thing"].block.attributes
    return {name: "x" if name == "id" else Null(attributes[name].type) for name in attributes}


@pytest.mark.slow
def test_the_cache_does_not_grow_for_ever(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_parts.SCHEMAS, "most_entries", 3)
    for i in range(6):
        kept.stand_in.write_bytes(b"\x7fELF" + bytes(i))
        kept.look()
    assert len(list(kept.entries.iterdir())) == 3
    monkeypatch.setattr(schema_parts.SCHEMAS, "most_bytes", 10)
    kept.stand_in.write_bytes(b"\x7fELF, at last")
    kept.look()
    assert len(list(kept.entries.iterdir())) == 1


# ---------------------------------------------------------------- taken apart

names = st.text(max_size=8)


@given(st.dictionaries(names, st.integers(0, 2**62), max_size=6), st.sets(names, max_size=4), st.sampled_from([5, 6]))
@settings(max_examples=examples(50))
def test_parts_are_those_of_the_message(versions: dict[str, int], functions: set[str], protocol: int) -> None:
    known = messages(protocol)
    answer = known.SchemaAnswer(
        provider=known.Schema(version=7),
        resource_schemas={name: known.Schema(version=v) for name, v in versions.items()},
        functions={name: known.Function(summary=name) for name in functions},
    )
    identities = known.IdentitySchemasAnswer(identity_schemas={n: known.IdentitySchema(version=3) for n in versions})
    parts, data = take_apart(protocol, answer.SerializeToString(), identities.SerializeToString())
    assert parts.general == known.SchemaAnswer(provider=known.Schema(version=7))
    assert {n: parts.part("resource_schemas", n).version for n in parts.places["resource_schemas"]} == versions
    assert {parts.part("functions", n).summary for n in parts.places["functions"]} == functions
    assert all(parts.part("identity_schemas", n).version == 3 for n in versions)
    assert len(data) == answer.ByteSize() + identities.ByteSize()


@given(st.binary(max_size=60))
@settings(max_examples=examples(150))
def test_bytes_that_are_no_message_are_refused_as_protobuf_refuses_them(data: bytes) -> None:
    """What is taken apart without complaint has no part that leads outside of it."""
    try:
        parts, whole = take_apart(6, data)
    except ValueError:
        return
    for table, places in parts.places.items():
        for name, (start, size, _) in places.items():
            assert 0 <= start <= start + size <= len(whole)
            try:
                parts.part(table, name)
            except DamagedSchema:
                raise
            except ValueError:
                pass


def test_a_type_whose_bytes_are_no_message(kept: Kept) -> None:
    entry = b"\x0a\x03bad\x12\x02\xff\xff"
    parts, data = take_apart(6, b"\x12" + bytes((len(entry),)) + entry)
    schema_parts.store_parts(str(kept.stand_in), parts, data)
    plugin = kept.start()
    plugin._parts = schema_parts.load_parts(str(kept.stand_in))
    with pytest.raises(Failure) as caught:
        plugin.schema().resources["bad"]
    assert "Its schema of bad cannot be read" in caught.value.diagnostics[0].detail
    assert kept.starts == 0
