"""The command line: turns words into options, with one module per command, and produces texts and exit codes."""
