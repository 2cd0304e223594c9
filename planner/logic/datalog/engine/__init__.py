"""Evaluation: programs, facts, and what follows from them."""
