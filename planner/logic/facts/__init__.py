"""Converts configuration, state, changes and command line to facts with sources; mostly one function for each
predicate."""
