"""Converts text to typed syntax: the configuration language, JSON, the rule language, and expressions for sets of
vertices."""
