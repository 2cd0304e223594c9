"""A few of the kills of tests/soak/batch_kills.py: nothing is lost, nothing that had finished is done again."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "soak"))

from batch_kills import Trial

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers are found through /proc")
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_batches_are_resumed(tmp_path: Path, seed: int) -> None:
    trial = Trial(tmp_path, 6, Random(seed), 0.25)  # it takes longer, however quick the machine is
    trial.run(2)
    assert sum(trial.kills.values()) >= 1
