"""Causes of random changes, compared with the truth (see causes.py). CAUSES in the environment: so many cases."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import causes

COUNT = int(os.environ.get("CAUSES", "12"))
LEAST = 0.75
"""the share of changes of the user who applied whose causes are exact"""


def test_causes_of_random_changes() -> None:
    outcomes, skipped = causes.run_cases(range(COUNT), ["same", "since"])
    same = [one for one in outcomes if one.situation == "same"]
    exact = sum(one.verdict == "exact" for one in same)
    assert not [text for _, text in skipped if text.startswith("defect")]
    assert len(skipped) < COUNT / 4
    assert exact >= LEAST * len(same), causes.classes(outcomes)
