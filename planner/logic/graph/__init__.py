"""Derivations of the graph rules: built, read, queried, and explained where the graph cannot be walked."""
