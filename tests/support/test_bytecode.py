"""Modules come from the entry of a command, and only as long as their files are as they were. In processes of their
own: what is imported stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = """
import sys
from planner.foundation.support import bytecode
bundle = bytecode.bundled("asked")
import planner.language.config.load as load, planner.world.state.lock as lock, planner.language.config
kinds = {name: type(one.__spec__.loader).__name__ for name, one in sys.modules.items() if name.startswith("planner.")}
print(sum(kind == "_Loader" for kind in kinds.values()), kinds["planner.language.config.load"], lock.SLOW)
assert planner.language.config.__path__ and load.__file__.endswith("load.py") and load.__cached__
bundle.keep()
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The program, copied, with a home of its own."""
    shutil.copytree(ROOT / "planner", tmp_path / "planner", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("grammar", "rules"):
        os.symlink(ROOT / name, tmp_path / name)
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path


def _ask(copy: Path, *, bytecode: bool = True) -> list[str]:
    environment = {"HOME": str(copy / "home"), "PYTHONPATH": str(copy), "PATH": os.environ["PATH"]}
    if not bytecode:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", ASKED], cwd=copy, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def _entry(copy: Path) -> Path:
    (entry,) = (copy / "home" / ".cache" / "planner" / "bytecode").iterdir()
    return entry


@pytest.mark.slow
@pytest.mark.parametrize("bytecode", [True, False])
def test_the_second_start_reads_one_file(copy: Path, bytecode: bool) -> None:
    assert _ask(copy, bytecode=bytecode) == ["0", "SourceFileLoader", "0.4"]
    before = _entry(copy).stat().st_mtime_ns
    count, kind, _ = _ask(copy, bytecode=bytecode)
    assert int(count) > 30 and kind == "_Loader" and _entry(copy).stat().st_mtime_ns == before


@pytest.mark.slow
def test_an_edited_module_is_loaded_anew(copy: Path) -> None:
    _ask(copy)
    path = copy / "planner" / "state" / "lock.py"
    path.write_text(path.read_text().replace("SLOW = 0.4", "SLOW = 0.5"))  # of the same size
    assert _ask(copy)[1:] == ["_Loader", "0.5"]


def test_what_is_damaged_is_not_believed(copy: Path) -> None:
    _ask(copy)
    data = bytearray(_entry(copy).read_bytes())
    for i in range(len(data) // 2, len(data)):
        data[i] ^= 1  # the code of some modules
    _entry(copy).write_bytes(data)
    assert _ask(copy)[2] == "0.4"
    data[100] ^= 1  # the index
    _entry(copy).write_bytes(data)
    assert _ask(copy) == ["0", "SourceFileLoader", "0.4"]


@pytest.mark.slow
def test_many_that_are_missing_are_added(copy: Path) -> None:
    _ask(copy)
    for path in (copy / "planner" / "config").glob("*.py"):
        os.utime(path, ns=(1, 10**18))
    first = int(_ask(copy)[0])
    assert int(_ask(copy)[0]) > first + 10
