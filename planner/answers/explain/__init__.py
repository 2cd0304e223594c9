"""Explains plans: proofs of actions and unknown values, and the causes of changes."""
