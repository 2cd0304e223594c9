"""Writes reports to pull requests: a comment, which later reports update, and annotations at lines."""
