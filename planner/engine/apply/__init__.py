"""Applying: operations of providers, provisioners, the new state, in addition to the parts common to all walks."""
