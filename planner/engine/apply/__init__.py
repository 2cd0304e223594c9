"""Applying: operations of providers, provisioners, the new state, in addition to the parts that all walks share."""
