"""Every check of a program, by golden files: `diagnostics/NAME.dl` gives `NAME.err`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_helpers import check_golden, shown

from planner.foundation.vocabulary.diagnostic import has_errors
from planner.logic.datalog.engine.cache import load_program

HERE = Path(__file__).parent / "diagnostics"


@pytest.mark.parametrize("path", sorted(HERE.glob("*.dl")), ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    program, diagnostics = load_program([(path.name, path.read_text(encoding="utf-8"))])
    assert diagnostics
    assert (program is None) == has_errors(diagnostics)
    check_golden(path.with_suffix(".err"), "\n\n".join(map(shown, diagnostics)) + "\n")


SINGLE = sorted((HERE / "single").glob("*.dl"))


@pytest.mark.parametrize("path", SINGLE, ids=lambda p: p.stem)
def test_golden_of_one_mistake(path: Path) -> None:
    """A file with one mistake in it gives one diagnostic, or one for each place that has to do with it."""
    test_golden(path)


def test_there_are_many_kinds_of_mistakes() -> None:
    """Two goldens with the same first words would show the same kind of mistake twice."""
    kinds = set()
    for path in SINGLE:
        head, _line, carets, *detail = path.with_suffix(".err").read_text(encoding="utf-8").splitlines()
        assert re.search(r"\(\w+\.dl:\d+:\d+\)$", head) and carets.lstrip(" |").strip("^") == ""
        kinds.add((head.split(" (")[0], detail[0]))
    assert len(kinds) >= 45


def test_users_rules_and_the_product() -> None:
    files = [(name, (HERE / "core" / name).read_text(encoding="utf-8")) for name in ("core.dl", "user.dl")]
    program, diagnostics = load_program(files, core={"core.dl"})
    assert program is None
    check_golden(HERE / "core" / "user.err", "\n\n".join(map(shown, diagnostics)) + "\n")


def test_users_rules_may_add_to_open_predicates() -> None:
    core = (HERE / "core" / "core.dl").read_text(encoding="utf-8")
    program, diagnostics = load_program([("core.dl", core), ("user.dl", 'extra("a", "b").')], core={"core.dl"})
    assert program is not None
    assert diagnostics == []
