"""Random expressions against OpenTofu's evaluation.

EXPRESSIONS names a program that evaluates them: lines {"expr": TEXT} go in; for each, {"value": TREE} or {"error":
[[start, end], ...]} comes back, with trees and variables as in tests/language/functions/value_tree.py. Hangs count too.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from language.functions.value_tree import answer
from random_expressions import Expressions

PROGRAM = os.environ.get("EXPRESSIONS", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="set EXPRESSIONS to a program that evaluates expressions")


def theirs(texts: list[str], directory: Path) -> list[dict[str, Any]]:
    questions = "".join(json.dumps({"expr": text}) + "\n" for text in texts)
    done = subprocess.run(
        [*shlex.split(PROGRAM), "."], input=questions.encode(), cwd=directory, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.split(b"\n") if line]


@pytest.mark.parametrize("kind", ["expression", "mutated"])
@pytest.mark.parametrize("seed", range(10))
def test_same_values_and_errors(seed: int, kind: str, tmp_path: Path) -> None:
    source = Expressions(seed)
    texts = [source.mutated() if kind == "mutated" else source.expression() for _ in range(10_000)]
    wrong = []
    for text, expected in zip(texts, theirs(texts, tmp_path), strict=True):
        if "panic" in expected or "panic" in json.dumps(expected.get("words")):
            continue  # a bug of the evaluation that we compare with
        got = answer(text)
        if ("value" in expected and got.get("value", ...) != expected["value"]) or ("error" in expected) != (
            "error" in got
        ):
            wrong.append((text, expected, got))
    assert not wrong
