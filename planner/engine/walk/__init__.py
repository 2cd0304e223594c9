"""The executor: a pure machine, the pool and the loop that drive it, and the hooks of a walk."""
