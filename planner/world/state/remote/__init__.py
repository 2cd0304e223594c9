"""States that services keep: what a backend has to do for one (client), and the store over it."""
