"""What OpenTofu 1.12.6 answered for calls of every function: values to the last mark, errors to the last byte.

The calls were made up like those of tests/soak/random_calls.py.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from .value_tree import answer

RECORDS: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _line in Path(__file__).with_name("recorded.jsonl").read_text(encoding="utf-8").split("\n"):
    if _line:
        _record = json.loads(_line)
        RECORDS[re.match(r"[a-z0-9]+", _record["expr"])[0]].append(_record)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_answers_like_opentofu(name: str) -> None:
    wrong = []
    for record in RECORDS[name]:
        expected = {key: record[key] for key in ("value", "error") if key in record}
        got = answer(record["expr"])
        if got != expected:
            wrong.append((record["expr"], expected, got))
    assert not wrong
