"""The commands. A command's function returns its exit code: 0, or 1 on errors, unless its docstring has other codes. It
may raise UsageError and Failure."""
