"""Derivations of the graph rules: building, reading and querying graphs, and explaining graphs that cannot be
walked."""
