"""Configuration texts with small and large mutations, and what is done with each.

    python tests/soak/mutations.py [COUNT [SEED]]     one million by default, on all processors

Every text is read as what it is (native syntax, JSON, a template, an expression), formatted, and evaluated where that
makes sense; it fails when anything raises, when it takes longer than two seconds, or when memory grows without end.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from random_expressions import PIECES

from planner.foundation.values.value import UNKNOWN
from planner.foundation.vocabulary.span import Source
from planner.language.expressions.console import answer
from planner.language.expressions.evaluate import MappingScope, evaluate_template
from planner.language.functions import CallContext
from planner.language.syntax.body import variables
from planner.language.syntax.files import load_text
from planner.language.syntax.format import format_text
from planner.language.syntax.parse import parse_template

ROOT = Path(__file__).parents[2]
SECONDS = 2.0
MEGABYTES = 1500
BLOCK = 2000


class Slow(BaseException):
    """An input that took too long. Not an Exception: nothing on the way may catch it."""


Seeds = dict[str, list[str]]
KINDS = ["native"] * 5 + ["expression"] * 3 + ["json", "template"]


def seeds() -> Seeds:
    """By kind, the configuration, variables and template files of the tests, and recorded expressions in all kinds."""
    found: Seeds = {"native": [], "json": [], "template": [], "expression": []}
    for path in sorted((ROOT / "tests").rglob("*")):
        kind = {".tf": "native", ".tofu": "native", ".tfvars": "native", ".tftpl": "template"}.get(path.suffix)
        if path.name.endswith((".tf.json", ".tfvars.json")):
            kind = "json"
        if kind and path.is_file() and path.stat().st_size < 6000:
            found[kind].append(path.read_bytes().decode("utf-8", "replace"))
    records = json.loads((ROOT / "tests/conformance/expressions/expressions.json").read_text(encoding="utf-8"))
    for i, text in enumerate(record["expr"] for record in records if len(record["expr"]) < 300):
        found["expression"].append(text)
        block = {"locals": {"x": f"${{{text}}}", "y": [i, None, True, {"a": text}]}}
        found["json"].append(json.dumps(block, indent=i % 3, ensure_ascii=i % 2 == 0))
        found["template"].append(f"%{{ for a in {text} ~}}\n${{a}} ${{{text}}}\n%{{ endfor }}")
    small = found["native"]
    found["native"] = [*small, *("\n".join(small[i : i + 8]) for i in range(0, len(small), 8))]
    return found


def mutated(random: Random, texts: Seeds) -> tuple[str, str]:
    """A text with one to six changes: pieces put in, cut out, doubled, moved, characters flipped, texts crossed."""
    kind = random.choice(KINDS)
    text = random.choice(texts[kind])
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice([0, 1, 1, 2, 5, 20, 100]))
        change = random.randrange(7)
        if change <= 1:
            text = text[:at] + random.choice(PIECES) + text[at + change :]
        elif change == 2:
            text = text[:at] + text[end:]
        elif change == 3:
            text = text[:end] + text[at:end] * random.choice([1, 1, 2, 30]) + text[end:]
        elif change == 4:
            text = (
                text[:at]
                + chr(random.choice([0, 9, 10, 13, 34, 36, 92, 123, 125, 0xE9, 0x301, 0x200D, 0x1F600]))
                + text[at:]
            )
        elif change == 5:
            other = random.choice(texts[random.choice(KINDS)])
            cut = random.randrange(len(other) + 1)
            text = text[:at] + other[cut : cut + random.choice([3, 10, 60])] + text[at:]
        else:
            text = text[:at]
    return kind, text[:20_000]


def handled(kind: str, text: str) -> None:
    """Does with a text what the product would do with it."""
    if kind == "expression":
        context = CallContext(base_dir="/dev/null", planning=True, evaluate_template=evaluate_template)
        json.dumps(
            answer(text, MappingScope({"terraform_data": UNKNOWN, "path": UNKNOWN}, context=context)), default=str
        )
    elif kind == "template":
        parse_template(Source("x.tftpl", text))
    else:
        body, source, problems = load_text(text.encode(), "x.tf.json" if kind == "json" else "x.tf")
        for problem in problems:
            assert problem.summary
            assert problem.detail
            assert problem.subject is None or 0 <= problem.subject.start <= problem.subject.end <= len(source.text)
        if kind == "native" and body is not None:
            variables(body)  # type: ignore[arg-type]
            if not problems:
                once = format_text(text)
                assert format_text(once) == once, "formatting again changes it"


def within(seconds: float, work: Callable[[], Any]) -> None:
    """Raises Slow when the work takes longer."""

    def too_long(*_: Any) -> None:
        raise Slow

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def block(seed: int, count: int = BLOCK) -> list[tuple[str, str, str]]:
    """(kind, text, what happened) of each mutated text that is not handled well."""
    random, texts, bad = Random(seed), _texts(), []
    for _ in range(count):
        kind, text = mutated(random, texts)
        try:
            with patch.dict(os.environ, PLANNER_NO_CACHE="1"):
                within(SECONDS, lambda: handled(kind, text))  # noqa: B023
        except Slow:
            bad.append((kind, text, f"took longer than {SECONDS} s"))
        except Exception:
            bad.append((kind, text, traceback.format_exc(limit=-4)))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if used > MEGABYTES:
        bad.append(("", "", f"the process grew to {used} MB"))
    return bad


_texts = cache(seeds)


def blocks(count: int, seed: int) -> Iterator[list[tuple[str, str, str]]]:
    with ProcessPoolExecutor() as pool:
        yield from pool.map(block, range(seed * 100_000, seed * 100_000 + -(-count // BLOCK)))


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    started, bad = time.monotonic(), 0
    for done, found in enumerate(blocks(count, int(sys.argv[2]) if len(sys.argv) > 2 else 1), 1):
        for kind, text, what in found:
            bad += 1
            print(f"--- {kind} {text!r}\n{what}", flush=True)
        if done % 50 == 0:
            print(f"{done * BLOCK} inputs, {bad} bad, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{count} inputs, {bad} bad, {time.monotonic() - started:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
