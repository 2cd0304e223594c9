"""Proofs of facts, and explanations why a fact is not derived."""
