"""Converts a plan to facts for policies (rules/policy). A relation is built only if policies read it."""
