"""Causes of random changes, compared with the truth (see causes.py). CAUSES in the environment: so many cases."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import causes

COUNT = int(os.environ.get("CAUSES", "2"))
LEAST = 0.95
"""the share of changes whose causes are exact, in each situation"""
SITUATIONS = ["same", "other", "since", "ci"]


def test_causes_of_random_changes() -> None:
    outcomes, skipped = causes.run_cases(range(COUNT), SITUATIONS)
    assert not [text for _, text in skipped if text.startswith("defect")]
    assert len(skipped) < COUNT / 4
    for situation in SITUATIONS:
        some = [one for one in outcomes if one.situation == situation]
        exact = sum(one.verdict == "exact" for one in some)
        assert exact >= LEAST * len(some), causes.classes(some)
