"""Helpers for tests with probe_server.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.foundation.values.schema import empty_value
from planner.world.provider.plugin.provider import PluginProvider


def config_of(plugin: PluginProvider, mode: str, type: str, /, **given: Any) -> dict[str, Any]:
    schema = plugin.schema().resource(mode, type)
    assert schema is not None
    return {**empty_value(schema.block), **given}


def calls(world: Path) -> list[Any]:
    """The calls so far."""
    path = world / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def thing(name: str, **given: Any) -> dict[str, Any]:
    """A thing as the world holds it."""
    absent = dict.fromkeys(("size", "note", "old_note", "secret_wo", "secret_wo_version"))
    return {**absent, "name": name, "id": f"thing-{name}", "token": f"token-{name}", "rule": [], **given}


def fill(world: Path, *things: dict[str, Any], **others: Any) -> None:
    (world / "probe.json").write_text(json.dumps({"things": {t["name"]: t for t in things}, "notes": [], **others}))
