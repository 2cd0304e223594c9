"""Executes walks. Contains a state machine without side effects, the thread pool and the loop that drive it, and the
hooks of a walk."""
