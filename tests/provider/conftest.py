"""Fixtures for tests with probe_server.py, over both protocols."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from provider.plugins import SOURCES, is_alive, override, pids

from planner.world.provider.plugin.provider import PluginProvider


@pytest.fixture(params=[5, 6])
def probe_world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the provider's world and its calls."""
    monkeypatch.setenv("PROBE_LOG", str(tmp_path / "world" / "calls"))
    monkeypatch.delenv("PROBE_OFF", raising=False)
    return override(monkeypatch, tmp_path, request.param, ("probe",))


@pytest.fixture
def probe(probe_world: Path) -> Iterator[PluginProvider]:
    command = [str(probe_world.parent / "bin" / "probe" / "terraform-provider-probe")]
    found = PluginProvider(SOURCES["probe"], command)
    yield found
    found.close()
    assert not any(map(is_alive, pids(probe_world) if (probe_world / "started").exists() else []))
