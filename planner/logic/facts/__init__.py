"""Converts configuration, state, changes and command line to facts with sources, with one function for each
predicate."""
