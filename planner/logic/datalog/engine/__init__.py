"""Evaluation of programs on facts."""
