"""Explanations of a plan: facts about the sources of values and actions, and proofs."""
