"""The cases of the contract, against what the reference did."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.clients.contract import play
from tests.clients.contract_cases import CASES

EXPECTED = json.loads(Path(__file__).with_name("contract_expected.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_contract(name, tmp_path):
    seen = play([sys.executable, "-m", "planner"], CASES[name], tmp_path / "work")
    assert seen == EXPECTED[name]


def test_every_case_is_recorded():
    assert sorted(EXPECTED) == sorted(CASES)
