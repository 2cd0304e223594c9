"""The record of an apply is at most as large as the state, or 64 KiB where that is smaller."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.generate import main as generate

from planner.world.state.input_record import LEAST_BYTES, ApplyInputs, InputRecord, fit, read_record, record_bytes

Run = Callable[..., Any]
RECORD = ".terraform.tfstate.applied.json"


def noise(size: int, seed: int = 0) -> str:
    return random.Random(seed).randbytes(size // 2).hex()


def test_contents_of_files_go_first_and_the_largest_of_them() -> None:
    read = {f"f{n}": ("digest", f"k{n}") for n in range(6)}
    texts = {f"k{n}": noise(10_000 * (n + 1), n) for n in range(6)}
    record = InputRecord("l", "s", {"r": ApplyInputs(1, True, {"main.tf": "m"}, read=read)}, {}, {**texts, "m": "main"})
    whole = len(record_bytes(record))
    assert fit(record, whole) is record
    for most in (whole - 1, whole // 2, whole // 10, 2_000):
        less = fit(record, most)
        assert len(record_bytes(less)) <= most and less.runs == record.runs
        left = sorted(less.sources)
        assert left == [*(f"k{n}" for n in range(len(left) - 1)), "m"]
    assert not fit(record, 200).runs and fit(record, 200).lineage == "l"


def test_a_large_file_of_a_small_state(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content is dropped, and that it changed is known."""
    monkeypatch.chdir(tmp_path)
    names = [f"f{n}.txt" for n in range(8)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(noise(60_000, number))
    (tmp_path / "main.tf").write_text(
        'variable "size" { default = 1 }\n'
        'resource "terraform_data" "a" { input = length("'
        + "".join(f'${{file("{name}")}}' for name in names)
        + '") + var.size }\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    assert LEAST_BYTES / 2 < (tmp_path / RECORD).stat().st_size <= LEAST_BYTES
    (tmp_path / names[3]).write_text("short")
    out = planner("why").out
    assert "f3.txt was edited" in out and "causes the only change" in out and "var.size" not in out


@pytest.mark.parametrize("shape", ["dag", "foreach", "modules", "nested", "flat"])
def test_configurations_of_benchmarks(
    shape: str, tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(shape, 100, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    data = (tmp_path / RECORD).read_bytes()
    record = read_record(data)
    assert record is not None and record.runs
    assert len(data) <= max((tmp_path / "terraform.tfstate").stat().st_size, LEAST_BYTES)
