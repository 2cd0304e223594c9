"""Rewritten policies are kept, and what is kept is what rewriting gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.answers.policy.program import KeptFile, load_policies
from planner.answers.policy.three_valued import rewrite
from planner.logic.programs.rule_programs import Files, load

OWN: Files = (
    (
        "own.dl",
        """/// small(addr): few. Example: small("t.a")
.decl small(addr: instance)
small(A) :- N = count : { part(A, "list", _, _) }, change(A, _, _, _, _, _), N < 3.
@reason("{A} is small") deny("size", A, "is " ++ V) :- small(A), not planned(A, "tags.Owner", _), planned(A, "name", V).
""",
    ),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PLANNER_NO_CACHE", raising=False)


def test_what_is_kept_is_what_rewriting_gives() -> None:
    (first, problems), (second, again) = load_policies(OWN), load_policies(OWN)
    assert first is not None and second is not None and list(map(str, problems)) == list(map(str, again))
    assert not isinstance(first.modal.file, KeptFile) and isinstance(second.modal.file, KeptFile)
    made, _ = rewrite(second.program)
    assert made is not None and second.modal.file.source.text == made.file.source.text
    assert (second.modal.could, second.modal.doubts, second.modal.broken) == (made.could, made.doubts, made.broken)


def test_a_program_is_made_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the compiled rules are gone and the rewritten ones are not."""
    load_policies(OWN)
    kept, _ = load_policies(OWN)
    assert kept is not None and isinstance(kept.modal.file, KeptFile)
    monkeypatch.setenv("PLANNER_NO_CACHE", "1")
    program, problems = load("policy", made=[kept.modal.file])
    assert program is not None, problems
    assert list(map(str, program.rules)) == list(map(str, kept.modal_program.rules))


def test_another_text_is_another_entry() -> None:
    load_policies(OWN)
    name, text = OWN[0]
    other, _ = load_policies(((name, text.replace("N < 3", "N < 4")),))
    assert other is not None and not isinstance(other.modal.file, KeptFile)
