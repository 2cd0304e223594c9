"""Derivations of the graph rules: building, reading and querying graphs, and explaining those that cannot be walked."""
