"""Proofs, and why something does not hold."""
