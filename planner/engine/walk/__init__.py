"""The executor: a pure machine, the pool and the loop that drive it, and what a walk tells."""
