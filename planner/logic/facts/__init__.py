"""Configuration, state, changes and command line as facts: one function a predicate, each fact with its source."""
