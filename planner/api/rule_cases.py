"""The cases of rule files and policies, for programs that test rules. They run in processes of their own, which have
limits of time and memory."""

from __future__ import annotations

from collections.abc import Sequence

from planner.operations import rule_quality, rule_tests
from planner.operations.rule_quality import Quality as Quality
from planner.operations.rule_tests import Tested as Tested
from planner.operations.rule_tests import named_cases as named_cases


def run_cases(paths: Sequence[str], program: str = "") -> Tested:
    """The outcomes of the cases in files and directories, with the problems of rules and cases. `program` names the
    program of the product that the rules belong to ("": the one whose relations they mention). Raises Failure."""
    return rule_tests.run_tests(paths, program)


def quality(paths: Sequence[str], program: str = "", mutants: bool = False) -> Quality:
    """How well cases that pass test their rules: which rules they exercise and, with `mutants`, which mistakes in the
    rules they notice. Raises Failure."""
    return rule_quality.quality(paths, program, mutants)[0]
