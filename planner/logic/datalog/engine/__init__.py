"""Evaluation: programs, facts, and their consequences."""
