"""State files: what OpenTofu writes survives byte by byte; what is damaged gives diagnostics."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.world.state.file import read_state, same_content, write_state
from planner.world.state.model import State

DATA = Path(__file__).parent / "data"
EVERYTHING = (DATA / "everything.tfstate").read_bytes()
PROVIDER = 'provider["terraform.io/builtin/terraform"]'


def state_with(**changes: Any) -> bytes:
    root: dict[str, Any] = {"version": 4, "serial": 1, "lineage": "l", "outputs": {}, "resources": []}
    root.update(changes)
    return json.dumps(root).encode()


def resource(*instances: Any, **changes: Any) -> dict[str, Any]:
    return {"mode": "managed", "type": "t", "name": "n", "provider": PROVIDER, "instances": list(instances), **changes}


def codes(data: bytes) -> list[str]:
    state, diagnostics = read_state(data, "terraform.tfstate")
    assert state is None
    assert all(d.detail for d in diagnostics)
    return [d.code for d in diagnostics]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.tfstate")), ids=lambda p: p.stem)
def test_same_bytes(path: Path) -> None:
    state, diagnostics = read_state(path.read_bytes())
    assert diagnostics == []
    assert state is not None
    assert write_state(state) == path.read_bytes()


def test_everything_is_read() -> None:
    state, _ = read_state(EVERYTHING)
    assert state is not None
    a = state.resources["test_thing.a"]
    assert list(a.instances) == [0, 10, 'k"q']
    current = a.instances[0].current
    assert current is not None
    assert current.tainted
    assert current.sensitive_paths == ((("attr", "rules"), ("index", 0), ("attr", "password")),)
    assert current.dependencies == ("data.terraform_remote_state.r", "module.m.test_thing.z")
    assert (current.create_before_destroy, current.skip_destroy) == (True, True)
    assert (current.identity, current.identity_schema_version) == ({"region": "west"}, 1)
    assert a.instances[0].deposed["0a1b2c3d"].attributes_flat == {"id": "old", "tags.%": "0"}
    z = state.resources['module.m["x"].test_thing.z']
    assert z.provider == 'module.m.provider["registry.opentofu.org/acme/test"].by_region'
    assert z.instances[None].provider_key == "eu"
    r = state.resources["data.terraform_remote_state.r"].instances[None].current
    assert r is not None
    assert r.attributes["big"] == Decimal("123456789012345678901234567890.5")


def test_empty_file_is_no_state() -> None:
    assert read_state(b"") == (None, [])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x00\xff", "state.unsupported_format"),
        (b"[]", "state.unsupported_format"),
        (b"{}", "state.unsupported_format"),
        (b'{"version": 4', "state.unsupported_format"),
        (b'{"version": "4"}', "state.unsupported_format"),
        (b'{"version": 0, "serial": 1}', "state.unsupported_format"),
        (b'{"version": 5, "terraform_version": "9.0.0"}', "state.unsupported_format"),
        (b'{"encrypted_data": "x", "encryption_version": "v0"}', "state.unsupported_format"),
        (state_with(resources={}), "state.malformed"),
        (state_with(resources=[3]), "state.malformed"),
        (state_with(serial=-1), "state.malformed"),
        (state_with(serial="1"), "state.malformed"),
        (state_with(lineage=7), "state.malformed"),
        (state_with(check_results={}), "state.malformed"),
        (state_with(resources=[resource({"attributes": []})]), "state.malformed"),
        (state_with(resources=[resource({"index_key": True})]), "state.malformed"),
        (state_with(resources=[resource({"sensitive_attributes": [[{"type": "odd"}]]})]), "state.malformed"),
        (state_with(resources=[resource({}, mode="ephemeral")]), "state.invalid_mode"),
        (state_with(resources=[resource({}, module="module")]), "state.invalid_address"),
        (state_with(resources=[resource({}, provider="nonsense")]), "state.invalid_address"),
        (state_with(resources=[resource({"dependencies": ["a"]})]), "state.invalid_address"),
        (state_with(resources=[resource({}, provider="")]), "state.provider_missing"),
        (state_with(resources=[resource({}, {})]), "state.duplicate_instance"),
        (state_with(resources=[resource({}), resource({})]), "state.duplicate_instance"),
        (state_with(resources=[resource({"deposed": "abc"})]), "state.invalid_deposed_key"),
        (state_with(resources=[resource({"status": "broken"})]), "state.invalid_status"),
        (state_with(outputs={"x": {"value": 1, "type": "colour"}}), "state.invalid_output"),
        (state_with(outputs={"x": {"value": "a", "type": "number"}}), "state.invalid_output"),
        (state_with(outputs={"x": 3}), "state.malformed"),
    ],
)
def test_damage_gives_diagnostics(data: bytes, code: str) -> None:
    assert codes(data) == [code]


def test_several_problems_at_once() -> None:
    data = state_with(resources=[resource({}, mode="odd"), resource({"status": "odd"})])
    assert codes(data) == ["state.invalid_mode", "state.invalid_status"]


def test_truncated_anywhere() -> None:
    for end in range(1, len(EVERYTHING) - 2, 97):
        assert codes(EVERYTHING[:end]) == ["state.unsupported_format"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(150))
@given(st.data())
def test_any_damage_is_survived(data: st.DataObject) -> None:
    """Whatever stands in place of any part of a file, reading ends with a state or with diagnostics."""
    root = json.loads(EVERYTHING)
    at: Any = root
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else list(range(len(at)))))
        if not at[key] or not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(JSON)
    state, diagnostics = read_state(json.dumps(root).encode())
    assert (state is None) == any(d.is_error for d in diagnostics)
    if state is not None:
        again, _ = read_state(write_state(state))
        assert same_content(state, again)


def test_old_provider_addresses() -> None:
    for text, normal in [
        ("provider.aws", 'provider["registry.opentofu.org/-/aws"]'),
        ("module.m.provider.aws.west", 'module.m.provider["registry.opentofu.org/-/aws"].west'),
        ("provider.terraform", PROVIDER),
        ('provider["hashicorp/aws"]', 'provider["registry.opentofu.org/hashicorp/aws"]'),
    ]:
        state, _ = read_state(state_with(resources=[resource({}, provider=text)]))
        assert state is not None
        assert state.resources["t.n"].provider == normal


def test_same_content_ignores_serial_and_lineage() -> None:
    assert same_content(State(serial=1, lineage="a"), State(serial=2, lineage="b"))
    state, _ = read_state(EVERYTHING)
    assert not same_content(state, State())
    assert same_content(None, None)
    assert not same_content(None, State())


def test_a_deep_value_of_an_object_is_recorded() -> None:
    """An apply that cannot write down what it made loses it."""
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    instance = {"schema_version": 0, "attributes": {"id": "1", "deep": deep}, "sensitive_attributes": []}
    state, problems = read_state(state_with(resources=[resource(instance)]))
    assert state is not None and not problems
    assert same_content(read_state(write_state(state))[0], state)
