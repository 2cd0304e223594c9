"""The import law of the architecture, as contracts in pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

from import_graph import modules, room
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[2]


def test_every_contract_is_kept() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_every_room_is_in_the_law() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rooms = {room(module) for module in modules()} - {"planner"}
    wings = {one.rpartition(".")[0] for one in rooms}
    assert rooms - wings == set(contracts[0]["layers"])
