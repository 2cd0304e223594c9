"""Policies in Python: see planner.api.policies."""

from planner.api.policies import deny, relation, warn
from planner.api.undecided import UndecidedError, is_unknown

__all__ = ["UndecidedError", "deny", "is_unknown", "relation", "warn"]
