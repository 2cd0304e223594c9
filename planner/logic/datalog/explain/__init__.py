"""Proofs of derived rows, and explanations why a row is not derived."""
