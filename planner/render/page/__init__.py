"""A page to explore a graph: its data, its layout, and the self-contained file."""
