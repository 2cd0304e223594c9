"""The command line: words to options, one module a command, texts and exit codes."""
