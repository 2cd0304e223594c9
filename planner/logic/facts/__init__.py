"""Converts the configuration, the state, changes and the command line to facts with sources. Most predicates have a
function of their own."""
