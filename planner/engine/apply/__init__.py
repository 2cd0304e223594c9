"""Applying a plan: operations of providers, provisioners and the new state, in addition to the parts that all walks
share."""
