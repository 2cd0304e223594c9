"""States of versions 1 to 3: read as OpenTofu reads them (what `state pull` gave is recorded), or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.world.state.file import read_state, write_state

CASES = json.loads((Path(__file__).parent / "data" / "old_versions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_becomes_of_it(case: dict[str, Any]) -> None:
    state, diagnostics = read_state(json.dumps(case["old"]).encode())
    assert diagnostics == []
    assert state is not None
    document = json.loads(write_state(state))
    del document["version"], document["terraform_version"]
    assert document == case["new"]


def state_of(resources: dict[str, Any], **more: Any) -> bytes:
    modules = [{"path": ["root"], "resources": resources}]
    return json.dumps({"version": 3, "serial": 1, "lineage": "l", "modules": modules, **more}).encode()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        *(
            (state_of({address: {}}), "state.malformed")
            for address in ("a", "a.b.c", "a.b.c.d", "data.a.b.c.d", "data.a")
        ),
        *(
            (state_of({"a.b": {"provider": provider}}), "state.malformed")
            for provider in ("x[0]", "x.${y}", 'provider["registry.example.com/x/y"]')
        ),
        (state_of({"a.b": {"provider": "provider.x.${y}"}}), "state.invalid_address"),
        (state_of({"a.b": {"provider": "provider.x.y.z"}}), "state.invalid_address"),
        (state_of({"a.b": {"primary": {"attributes": {"n": 1}}}}), "state.malformed"),
        (state_of({"a.b.-1": {"primary": {"id": "x"}}}), "state.malformed"),
        (state_of({}, serial=-1), "state.malformed"),
        (state_of({}, terraform_version="yesterday"), "state.invalid_version"),
        (state_of({}, modules=[{"path": ["root", "1x"]}]), "state.malformed"),
        (state_of({}, modules=[{"path": []}]), "state.malformed"),
        (state_of({}, modules=[None]), "state.malformed"),
    ],
)
def test_refused(data: bytes, code: str) -> None:
    state, diagnostics = read_state(data, "old.tfstate")
    assert state is None
    assert [d.code for d in diagnostics] == [code]
