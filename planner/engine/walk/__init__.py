"""Executes walks: a state machine without side effects, the pool and the loop that drive it, and the hooks of a
walk."""
