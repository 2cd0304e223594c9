"""The operations of commands. Each command has its own module, and an operation consists of several steps."""
