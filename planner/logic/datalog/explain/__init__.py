"""Proofs, and explanations why something does not hold."""
