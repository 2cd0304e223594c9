"""The commands, one module each. A command's function returns its exit code: 0, or 1 on errors."""
