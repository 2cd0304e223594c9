"""The wheel holds all that planner needs: installed alone, far from the checkout, it plans."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("planner", "rules", "grammar", "docs", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PLANNER_", "PYTHON"))}
    environment["XDG_CACHE_HOME"] = str(cwd / "cache")  # nothing that the checkout has left there
    return subprocess.run([*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources, without the network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("the build backend hatchling is not installed, and fetching it would need the network")
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed")
    folder = tmp_path_factory.mktemp("build")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, folder / name)
    words = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "dist", folder)
    built = run(sys.executable, "-m", "pip", *words, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = (folder / "dist").glob("planner_iac-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; the libraries are lent by the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    words = ("--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel)
    done = run(sys.executable, "-m", "pip", *words, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # a plain path: .pth files of the lending environment (an editable checkout, say) are not read
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder


def test_the_wheel_carries_rules_and_grammars(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("rules", "grammar"):
        sources = {
            str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.suffix in (".dl", ".lark")
        }
        assert sources
        assert {f"planner/_assets/{name}" for name in sources} <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "rules/", "grammar/"))]


def test_installed_it_finds_its_own_files(installed: Path) -> None:
    code = (
        "from planner.foundation.support.assets import *; print(rules_path(), grammar_path('config.lark'), sep='\\n')"
    )
    done = run(installed / "venv" / "bin" / "python", "-c", code, cwd=installed)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.split():
        path = Path(line)
        assert path.exists() and path.is_relative_to(installed) and "_assets" in path.parts


def test_installed_it_plans(installed: Path) -> None:
    shutil.copytree(ROOT / "examples" / "01_first_plan", installed / "example")
    elsewhere = installed / "elsewhere"
    elsewhere.mkdir()
    planner = installed / "venv" / "bin" / "planner"
    done = run(planner, f"-chdir={installed / 'example'}", "plan", cwd=elsewhere)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in done.stdout
    done = run(planner, "-chdir=../example", "why", "output.servers", "terraform_data.network", cwd=elsewhere)
    assert (done.returncode, done.stderr) == (0, "")
    assert "terraform_data.server refers to terraform_data.network in input" in done.stdout
    done = run(planner, "-chdir=../example", "explore", f"-out={elsewhere / 'page.html'}", cwd=elsewhere)
    assert (done.returncode, done.stderr) == (0, "")
    assert (elsewhere / "page.html").stat().st_size > 20_000  # with the script and the style
