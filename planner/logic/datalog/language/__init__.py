"""Converts rule files to checked rules: resolves names, and determines types and strata."""
