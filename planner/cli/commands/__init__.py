"""The commands. The function of a command returns the exit code: 0, or 1 on errors, unless the docstring documents
other codes. It may raise UsageError and Failure."""
