"""The library: the interface of planner for Python programs, and the base of the command line."""
