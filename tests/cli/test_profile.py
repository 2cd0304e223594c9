"""`planner -cpu-profile`: where the time of a command goes."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import profile

MAIN = "".join(f'resource "terraform_data" "r{n}" {{\n  input = "{n}"\n}}\n' for n in range(600))


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    words = (sys.executable, "-m", "planner", *words)
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


def test_stages_and_files_of_a_plan(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    done = run(tmp_path, "-cpu-profile=profile.json", "plan", "-no-color")
    assert done.returncode == 0 and "Time of the main thread" not in done.stdout
    assert "  plan " in done.stderr and "%" in done.stderr
    assert "Files that took the most time:" in done.stderr and "main.tf" in done.stderr
    document = json.loads((tmp_path / "profile.json").read_text())
    frames = document["shared"]["frames"]
    for one in document["profiles"]:
        assert len(one["samples"]) == len(one["weights"]) > 0
        assert {number for stack in one["samples"] for number in stack} <= set(range(len(frames)))
    assert any(frame["file"] == "planner/engine/plan/make_plan.py" for frame in frames if "file" in frame)
    assert str(Path(profile.__file__).parent) not in json.dumps(document)


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("nonsense {}\n")
    done = run(tmp_path, "-cpu-profile", "validate")
    assert done.returncode == 1 and "Unsupported block type" in done.stderr
    assert "Time of the main thread" in done.stderr


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    done = run(tmp_path, "-cpu-profile=gone/profile.json", "version")
    assert done.returncode == 1 and done.stdout == "" and "The profile cannot be written" in done.stderr


@pytest.mark.parametrize("stage", profile.STAGES)
def test_every_stage_is_found_by_its_function(stage: str) -> None:
    from importlib import import_module

    file, name = profile.STAGES[stage].split()
    code = inspect.unwrap(getattr(import_module(f"planner.{file[:-3].replace('/', '.')}"), name)).__code__
    assert profile._stage((code,), {profile.STAGES[stage]: stage}) == stage


def test_a_profile_for_pprof(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    environment = {**os.environ, "TOFU_CPU_PROFILE": "cpu.pprof"}
    words = [sys.executable, "-m", "planner", "plan"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    data = gzip.decompress((tmp_path / "cpu.pprof").read_bytes())
    assert b"make_plan" in data and b"nanoseconds" in data
    environment["TOFU_CPU_PROFILE"] = "no/cpu.pprof"
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "The profile cannot be written" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="pprof is a tool of Go")
def test_pprof_reads_a_profile(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(MAIN)
    environment = {**os.environ, "TOFU_CPU_PROFILE": "cpu.pprof"}
    subprocess.run([sys.executable, "-m", "planner", "plan"], cwd=tmp_path, env=environment, check=True)
    shown = subprocess.run(["go", "tool", "pprof", "-top", "-cum", "cpu.pprof"], cwd=tmp_path, capture_output=True)
    assert b"Type: wall" in shown.stdout and b"make_plan" in shown.stdout, shown
