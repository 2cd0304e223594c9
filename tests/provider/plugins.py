"""Makes the tests' provider plugins available to a test, as programs on the disk.

There are four: plugin_server.py and probe_server.py, which this Python runs, and with_tf.py and with_pyvider.py, each
run by a Python of its own with the package from PyPI that it is made with.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from clients.environments import environment

import planner
from planner.world.provider.plugin.process import COOKIE

SOURCE = "example.com/test/test"
SERVER = Path(__file__).with_name("plugin_server.py")
ROOT = Path(planner.__file__).parents[1]
PINS = {
    "tf": ("tf==1.2.0",),
    "pyvider": ("pyvider==0.8.1", "pyvider-cty==0.6.3", "pyvider-rpcplugin==0.5.5", "provide-foundation==0.4.10"),
}
SOURCES = {name: f"example.com/test/{name}" for name in ("test", "other", "probe", "tf", "pyvider")}
"""local name of each provider -> source address; `other` is `test` once more"""


def write_plugin(folder: Path, protocol: int = 6, name: str = "test", is_alone: bool = False) -> Path:
    """A program that runs a plugin of ours: a script, as its Python and its path are only known here. `is_alone`: in a
    process of its own, for tests of processes; otherwise it is forked, which takes a tenth of the time."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"terraform-provider-{name}"
    server = SERVER.with_name("probe_server.py") if name == "probe" else SERVER
    command = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" "{server}" {protocol}'
    if not is_alone:
        client = SERVER.with_name("plugin_client.py")
        command = f'exec "{sys.executable}" -I -S "{client}" "{forks()}" {server.stem} {protocol}'
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    return program


@cache
def forks() -> str:
    """The socket of the process that forks plugins, one for all tests of a worker."""
    folder = tempfile.mkdtemp(prefix="plugins-")
    path = f"{folder}/socket"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(SERVER.with_name("plugin_forks.py")), path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=environment)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(shutil.rmtree, folder, True)
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return path


def write_made_with(package: str, folder: Path) -> Path:
    """A program that runs the plugin made with a package from PyPI. Skips the test when that cannot be installed."""
    programs = environment(*PINS[package])
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"terraform-provider-{package}"
    lines = ["#!/bin/sh", f'export HOME="{programs.parent}"']  # tf keeps its certificate there
    if package == "tf":
        lines.append(f'exec "{programs}/python" "{SERVER.with_name("with_tf.py")}" "$@"')
    else:
        announced = folder / "with_pyvider-1.0.dist-info"  # how pyvider finds providers: packages with an entry point
        announced.mkdir(exist_ok=True)
        (announced / "METADATA").write_text("Metadata-Version: 2.1\nName: with-pyvider\nVersion: 1.0\n")
        (announced / "entry_points.txt").write_text("[pyvider]\ncomponents = with_pyvider\n")
        lines += [
            f'export PYTHONPATH="{folder}:{SERVER.parent}"',
            "export PYVIDER_PRIVATE_STATE_SHARED_SECRET=secret PYVIDER_LOG_LEVEL=ERROR PROVIDE_LOG_LEVEL=ERROR",
            'export PLUGIN_MAGIC_COOKIE_VALUE="$TF_PLUGIN_MAGIC_COOKIE"',  # as in the scripts that `pyvider` makes
            f'exec "{programs}/pyvider" provide "$@"',
        ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    return program


def write(name: str, folder: Path, protocol: int = 6, is_alone: bool = False) -> Path:
    """A program that runs the plugin of the provider with a name in SOURCES."""
    if name in ("test", "other", "probe"):
        return write_plugin(folder, protocol, name, is_alone)
    return write_made_with(name, folder)


def write_settings(folder: Path, programs: Mapping[str, Path]) -> Path:
    """Settings that make programs the overrides of the providers with these names."""
    found = folder / "settings.tfrc"
    lines = "".join(f'    "{SOURCES[name]}" = "{program.parent}"\n' for name, program in programs.items())
    found.write_text(f"provider_installation {{\n  dev_overrides {{\n{lines}  }}\n}}\n")
    return found


@contextmanager
def attached(programs: Mapping[str, Path], **environment: str) -> Iterator[str]:
    """Runs plugins as one who debugs them does; gives what TF_REATTACH_PROVIDERS must be. They must outlive the use."""
    variables = {**os.environ, COOKIE[0]: COOKIE[1], "PYTHONUNBUFFERED": "1", **environment, "TEST_PROVIDER_START": ""}
    running: list[subprocess.Popen[str]] = []
    try:
        for program in programs.values():
            words = [str(program), "--dev"]  # plugin_server.py needs no telling
            running.append(subprocess.Popen(words, stdout=subprocess.PIPE, env=variables, text=True))
        told = [_announced(name, process) for name, process in zip(programs, running, strict=True)]
        yield json.dumps({SOURCES[name]: where for name, where in zip(programs, told, strict=True)})
        assert [process.poll() for process in running] == [None] * len(running)
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _announced(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        told = re.search(r"TF_REATTACH_PROVIDERS='(.*)'", line)
        if told:
            return dict(json.loads(told[1])[SOURCES[name]])
        if line.startswith("1|"):
            _, version, network, where, *_ = line.split("|")
            address = {"Network": network, "String": where}
            return {
                "Protocol": "grpc",
                "ProtocolVersion": int(version),
                "Pid": process.pid,
                "Test": True,
                "Addr": address,
            }
    raise AssertionError(f"the plugin {name} did not start")


def override(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    protocol: int = 6,
    names: Sequence[str] = ("test",),
    is_alone: bool = False,
) -> Path:
    """Makes plugins the overrides of their source addresses; gives the directory of their objects."""
    bins = folder / "bin"
    programs = {name: write(name, bins if name == "test" else bins / name, protocol, is_alone) for name in names}
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(write_settings(folder, programs)))
    world = folder / "world"
    world.mkdir(exist_ok=True)
    monkeypatch.setenv("TEST_PROVIDER_WORLD", str(world))
    unset = ["TF_LOG", "TF_LOG_PROVIDER", "PLANNER_PROVIDER_TIMEOUT"]
    for name in [*(f"TEST_PROVIDER_{word}" for word in ("START", "KILL", "BIG")), *unset]:
        monkeypatch.delenv(name, raising=False)
    return world


def pids(world: Path) -> list[int]:
    """The processes that were ever started for a world."""
    return [int(line) for line in (world / "started").read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that only waits for its parent to take note does not)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
