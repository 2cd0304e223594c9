"""The interface of planner for Python programs. The command line uses it, too."""
