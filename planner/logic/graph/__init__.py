"""Builds graphs with the graph rules, reads and queries them, and explains graphs that cannot be walked."""
