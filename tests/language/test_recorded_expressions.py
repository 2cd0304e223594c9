"""What OpenTofu 1.12.6 answered for random expressions (tests/soak/random_expressions.py makes them) and for some that
were hard to get right: values to the last mark and refinement, errors with their byte ranges where those are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .functions.value_tree import answer

RECORDS = [
    json.loads(line)
    for line in Path(__file__).with_name("recorded_expressions.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]
BLOCK = 100


@pytest.mark.parametrize("start", range(0, len(RECORDS), BLOCK))
def test_answers_like_opentofu(start: int) -> None:
    wrong = []
    for record in RECORDS[start : start + BLOCK]:
        got = answer(record["expr"])
        if record.get("error") is True and "error" in got:
            continue
        expected = {key: record[key] for key in ("value", "error") if key in record}
        if got != expected:
            wrong.append((record["expr"], expected, got))
    assert not wrong
