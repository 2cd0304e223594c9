"""A page to explore a graph: its data, where things are drawn, and the one file that needs nothing else."""
