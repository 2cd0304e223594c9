"""The functions against OpenTofu itself on random calls: the path of its program in TOFU runs it.

Each call stands in a `try(jsonencode(...))`, so that its value or its failure is one line of the console's answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from random_calls import Calls

from planner.foundation.vocabulary.span import Source
from planner.language.expressions.evaluate import MappingScope, evaluate, evaluate_template
from planner.language.functions import CallContext
from planner.language.syntax.parse import parse_expression

TOFU = os.environ.get("TOFU", "")
pytestmark = pytest.mark.skipif(not TOFU, reason="set TOFU to the path of OpenTofu's program to compare with it")


def wrapped(call: str) -> str:
    return f'try(nonsensitive(jsonencode({call})), "failed")'


def ours(calls: list[str], base_dir: str) -> list[object]:
    context = CallContext(base_dir=base_dir, evaluate_template=evaluate_template)
    answers = []
    for call in calls:
        source = Source("call", wrapped(call))
        node, problems = parse_expression(source)
        assert node is not None
        assert not problems
        answers.append(evaluate(node, MappingScope(context=context), source))
    return answers


def theirs(calls: list[str], directory: Path) -> list[object]:
    text = "\n".join(map(wrapped, calls)) + "\n"
    done = subprocess.run([TOFU, "console"], input=text, cwd=directory, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.split("\n") if line]
    # A line is a quoted string of the language: JSON's escapes, and doubled signs before braces.
    return [json.loads(line.replace("$${", "${").replace("%%{", "%{")) for line in lines]


@pytest.mark.parametrize("seed", range(20))
def test_same_answers(seed: int, tmp_path: Path) -> None:
    source = Calls(seed)
    calls = [source.call() for _ in range(1000)]
    expected = theirs(calls, tmp_path)
    assert len(expected) == len(calls)
    got = ours(calls, str(tmp_path))
    wrong = [(call, e, g) for call, e, g in zip(calls, expected, got, strict=True) if e != g]
    assert not wrong
