"""Applies a plan: operations of providers, provisioners and the new state."""
