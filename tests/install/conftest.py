from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance import forked
from install.world import World

ROOT = Path(__file__).resolve().parents[2]
TEST_HOSTS = ("prov.example.com", "mods.example.com")


class Project:
    """A working directory beside a world; the hosts prov.example.com and mods.example.com are the world's."""

    def __init__(self, folder: Path, world: World) -> None:
        self.folder, self.world = folder, world
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "home").mkdir()
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("TF_")},
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder / "home"),
            "SSL_CERT_FILE": world.authority,
            "TF_CLI_CONFIG_FILE": str(folder / "rc"),
            "TF_IN_AUTOMATION": "1",
            "XDG_DATA_DIRS": str(folder / "none"),
            "NO_PROXY": "localhost",
        }
        self.settings("")

    def settings(self, text: str) -> None:
        (self.folder / "rc").write_text(
            f'host "prov.example.com" {{ services = {{ "providers.v1" = "{self.world.url}/p/" }} }}\n'
            f'host "mods.example.com" {{ services = {{ "modules.v1" = "{self.world.url}/m/" }} }}\n{text}\n'
        )

    def write(self, text: str, name: str = "main.tf") -> None:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def requires(self, source: str = "prov.example.com/acme/box", version: str = "") -> None:
        constraint = f'\n      version = "{version}"' if version else ""
        name = source.rpartition("/")[2]
        self.write(
            "terraform {\n  required_providers {\n"
            f'    {name} = {{\n      source = "{source}"{constraint}\n    }}\n  }}\n}}\n'
        )

    def run(self, *words: str, code: int = 0, **environ: str) -> str:
        done = forked.run(words, self.work, {**self.environ, **environ})
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return " ".join(said.split())

    @property
    def lock(self) -> str:
        path = self.work / ".terraform.lock.hcl"
        return path.read_text() if path.exists() else ""

    @property
    def packages(self) -> Path:
        return self.work / ".terraform" / "providers" / "prov.example.com" / "acme"

    def leftovers(self) -> list[str]:
        """What half-finished installations would leave."""
        return sorted(str(p) for p in self.work.rglob("*") if ".new" in p.name or p.name.endswith(".zip"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "world").mkdir()
    made = World(tmp_path / "world")
    made.start()
    made.discovery()
    yield made
    made.stop()


@pytest.fixture
def project(tmp_path: Path, world: World) -> Any:
    return Project(tmp_path, world)
