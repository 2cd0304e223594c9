"""The import law of the architecture, as contracts in pyproject.toml."""

from __future__ import annotations

import re
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


def test_files_that_are_mentioned_exist() -> None:
    known = {path.name for folder in ("planner", "tests") for path in (ROOT / folder).rglob("*.py")}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for folder, pattern in (("planner", "*.py"), ("planner", "*.md"), ("rules", "*.dl"), ("grammar", "*.lark")):
        pages += (ROOT / folder).rglob(pattern)
    mentioned = (
        (page, re.findall(r"(?<![\w*{-])(?:[a-z_]+/)*([a-z_]+\.py)\b", page.read_text("utf-8"))) for page in pages
    )
    assert [f"{page}: {name}" for page, names in mentioned for name in names if name not in known] == []
