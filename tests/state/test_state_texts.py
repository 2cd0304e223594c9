"""Large states whose unchanged resources are not encoded again: the same bytes, whatever stands in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

from planner.world.state import file
from planner.world.state.file import read_state, read_with_texts, write_state
from planner.world.state.model import State

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12) | st.just('},{"mode":"managed"'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["mode", "module", "a", "resources"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def resource(name: str, value: Any, module: str) -> dict[str, Any]:
    head = {"module": module} if module else {}
    instance = {"schema_version": 0, "attributes": {"v": value}, "sensitive_attributes": []}
    provider = 'provider["registry.opentofu.org/a/b"]'
    return {**head, "mode": "managed", "type": "t", "name": name, "provider": provider, "instances": [instance]}


def document(values: list[Any], output: Any) -> bytes:
    resources = [resource(f"r{i}", value, "module.m" if i % 2 else "") for i, value in enumerate(values)]
    root = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l"}
    outputs = {"o": {"value": [{"resources": [{"mode": output}]}], "type": "dynamic"}} if output else {}
    state, _ = read_state(json.dumps({**root, "outputs": {}, "resources": resources, "check_results": None}).encode())
    assert state is not None
    data = write_state(state, compact=True)
    return data.replace(b'"outputs":{}', b'"outputs":' + json.dumps(outputs, separators=(",", ":")).encode())


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "SMALLEST", 0)


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1, max_size=6), st.integers(0, 5))
@settings(max_examples=examples(200))
def test_the_same_bytes(values: list[Any], number: int) -> None:
    data = document(values, None)
    state, known, problems = read_with_texts(data, "s")
    plain, _ = read_state(data, "s")
    assert plain is not None and not problems and state is not None
    assert write_state(state) == write_state(plain)
    changed = changed_state(state, number % len(values))
    for one in (state, changed, evolve(state, serial=2, resources={})):
        assert write_state(one, compact=True, texts=known) == write_state(one, compact=True)


def changed_state(state: State, number: int) -> State:
    address = list(state.resources)[number]
    before = state.resources[address]
    instance = before.instances[None]
    assert instance.current is not None
    new = evolve(instance, current=evolve(instance.current, attributes={"v": "new <&>"}))
    return evolve(state, resources={**state.resources, address: evolve(before, instances={None: new})})


def test_texts_are_used() -> None:
    state, known, _ = read_with_texts(document([1, 2, 3], None), "s")
    assert state is not None and known is not None
    assert all(known.of(resource) is not None for resource in state.resources.values())
    assert known.of(evolve(next(iter(state.resources.values())))) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"version":4,',
        document([[{"mode": "x"}, {"mode": "y"}]], None),
        document([1.5e300], None),
        json.dumps(json.loads(document([1], None)), indent=2).encode(),
        document([1], None).replace(b'"check_results"', b'"check_results":null,"x"'),
    ],
)
def test_other_texts_are_read_as_a_whole(data: bytes) -> None:
    state, _, problems = read_with_texts(data, "s")
    other, found = read_state(data, "s")
    assert (state is None, problems) == (other is None, found)
    assert state is None or other is None or write_state(state) == write_state(other)


def test_cuts_that_would_be_wrong() -> None:
    """Objects in attributes that look like resources."""
    data = document([[{"mode": "a"}, {"mode": "b"}], {"module": "m"}], None)
    assert file.cut(data) is None
    assert read_with_texts(data, "s")[1] is None
