"""Configuration, state, changes and command line as facts, with one function for each predicate; each fact has its
source."""
