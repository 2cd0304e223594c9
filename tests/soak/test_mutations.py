"""A million mutated inputs; MUTATIONS in the environment is how many (see mutations.py)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mutations

COUNT = int(os.environ.get("MUTATIONS", "2000"))


@pytest.mark.parametrize("seed", range(-(-COUNT // mutations.BLOCK)))
def test_mutated_inputs_are_handled(seed: int) -> None:
    assert mutations.block(seed) == []
