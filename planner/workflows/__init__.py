"""Workflows built from several operations: fleets, stacks, tests, renewed plans, the editor."""
