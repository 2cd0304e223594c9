"""The library: what Python programs use of planner, and the base of the command line."""
