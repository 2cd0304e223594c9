"""Policies in Python: see planner.api.policies."""

from planner.api.policies import UndecidedError, deny, relation, warn

__all__ = ["UndecidedError", "deny", "relation", "warn"]
