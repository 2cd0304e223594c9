"""Applies a plan: calls providers, runs provisioners, and updates the state."""
