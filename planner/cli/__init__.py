"""The command line: parses arguments, with one module per command, prints results, and returns exit codes."""
