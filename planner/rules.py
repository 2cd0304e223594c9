"""The rule engine without infrastructure: see planner.api.rules."""

from planner.api.rules import Derived, Program, compile

__all__ = ["Derived", "Program", "compile"]
