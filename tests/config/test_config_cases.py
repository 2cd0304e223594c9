"""Every case file, and properties of what loading says about damaged configurations."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from config_cases import CASES, load_all, read_case, shown, write_files
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tests import examples

ALL = sorted(CASES.glob("*.case"))
BEYOND = {"module-chain-errors": {"error m/main.tf:5:1-5:7"}}
"""what OpenTofu reports about language that only planner has: an import block in a called module"""


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    files, expected = read_case(path)
    write_files(tmp_path, files)
    assert shown(load_all(tmp_path)) == sorted(line for line in expected if line not in BEYOND.get(path.stem, ()))


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_diagnostics_are_in_words(path: Path, tmp_path: Path) -> None:
    files, _ = read_case(path)
    write_files(tmp_path, files)
    for diagnostic in load_all(tmp_path):
        assert diagnostic.code
        assert diagnostic.summary
        assert not diagnostic.summary.endswith(".")
        assert "object at 0x" not in diagnostic.detail


PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "=",
    "\n",
    "${",
    "count = 1\n",
    "null",
    "1",
    "x.y",
    "source",
    "provider",
    ",",
    "\u0301",
]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, str]:
    """A case with a few pieces of text removed, doubled or inserted."""
    files, _ = read_case(draw(st.sampled_from(ALL)))
    for name in sorted(files):
        if name.startswith(".terraform"):
            continue
        text = files[name]
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(text)))
            end = draw(st.integers(start, min(len(text), start + 12)))
            middle = draw(st.sampled_from([*PIECES, "", text[start:end] * 2]))
            text = text[:start] + middle + text[end:]
        files[name] = text
    return files


@settings(max_examples=examples(120))
@given(damaged())
def test_damaged_configurations_give_diagnostics(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        write_files(Path(directory), files)
        first = load_all(Path(directory))
        assert shown(first) == shown(load_all(Path(directory)))
        for diagnostic in first:
            span = diagnostic.subject
            if span is not None:
                assert 0 <= span.start <= span.end <= len(span.source.text)
