"""The comparisons of tests/differential on thousands of programs. Off by default: SOAK=1 in the environment runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "datalog"))

from compare_evaluators import compare_all, compare_with_pydatalog

pytestmark = pytest.mark.skipif(not os.environ.get("SOAK"), reason="set SOAK=1 to run the long comparisons")


@pytest.mark.parametrize("block", range(40))
def test_evaluators_agree(block: int) -> None:
    assert sum(compare_all(seed) for seed in range(10_000 + block * 100, 10_100 + block * 100)) > 100


@pytest.mark.parametrize("block", range(20))
def test_pydatalog_agrees(block: int) -> None:
    assert sum(compare_with_pydatalog(seed) for seed in range(10_000 + block * 100, 10_100 + block * 100)) > 100
