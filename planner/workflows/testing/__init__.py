"""`test`: runs of test files, each a plan or an apply of a module with states in memory, and its assertions."""
