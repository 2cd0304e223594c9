"""The command line: parses arguments, runs one module for each command, prints results, and returns exit codes."""
