"""One meaning, several evaluators: compiled against naive, point, proofs, questions, and pyDatalog as an outsider."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from thinned import thinned

sys.path.insert(0, str(Path(__file__).parents[1] / "datalog"))

from compare_evaluators import compare_all, compare_with_pydatalog

BLOCK = 30


@pytest.mark.parametrize("block", thinned(range(10), 3))
def test_evaluators_agree(block: int) -> None:
    derived = sum(compare_all(seed) for seed in range(block * BLOCK, (block + 1) * BLOCK))
    assert derived > 20


@pytest.mark.parametrize("block", range(3))
def test_pydatalog_agrees(block: int) -> None:
    derived = sum(compare_with_pydatalog(seed) for seed in range(block * BLOCK, (block + 1) * BLOCK))
    assert derived > 20
