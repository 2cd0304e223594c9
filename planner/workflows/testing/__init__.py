"""The command `test`. Each run of a test file plans or applies a module, with a state in memory, and checks
assertions."""
