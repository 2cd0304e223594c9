"""Explanations of a plan: proofs, and facts about the sources of values and actions."""
