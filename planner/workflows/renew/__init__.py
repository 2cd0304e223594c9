"""A plan that was made before, made again from what is kept of it: as it was, but for the blocks that were edited."""
