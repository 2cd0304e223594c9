"""Every check of a program, by golden files: `diagnostics/NAME.dl` gives `NAME.err`."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_helpers import check_golden, shown

from planner.datalog.program import Program
from planner.vocabulary.diagnostic import has_errors

HERE = Path(__file__).parent / "diagnostics"


@pytest.mark.parametrize("path", sorted(HERE.glob("*.dl")), ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    program, diagnostics = Program.load([(path.name, path.read_text(encoding="utf-8"))])
    assert diagnostics
    assert (program is None) == has_errors(diagnostics)
    check_golden(path.with_suffix(".err"), "\n\n".join(map(shown, diagnostics)) + "\n")


def test_users_rules_and_the_product() -> None:
    files = [(name, (HERE / "core" / name).read_text(encoding="utf-8")) for name in ("core.dl", "user.dl")]
    program, diagnostics = Program.load(files, core={"core.dl"})
    assert program is None
    check_golden(HERE / "core" / "user.err", "\n\n".join(map(shown, diagnostics)) + "\n")


def test_users_rules_may_add_to_open_predicates() -> None:
    core = (HERE / "core" / "core.dl").read_text(encoding="utf-8")
    program, diagnostics = Program.load([("core.dl", core), ("user.dl", 'extra("a", "b").')], core={"core.dl"})
    assert program is not None
    assert diagnostics == []
