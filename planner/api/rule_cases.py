"""Runs cases of rule files and policies, for programs that test rules. Cases run in separate processes with limits of
time and memory."""

from planner.operations.rule_quality import Quality, quality
from planner.operations.rule_tests import Tested, named_cases
from planner.operations.rule_tests import run_tests as run_cases

__all__ = ["Quality", "Tested", "named_cases", "quality", "run_cases"]
