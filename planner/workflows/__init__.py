"""Whole workflows above single operations: fleets, stacks, tests, renewed plans, the editor."""
