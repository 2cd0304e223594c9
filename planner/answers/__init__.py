"""Answers to questions about plans: explanations, policies, and documents for other programs."""
