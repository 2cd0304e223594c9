"""Queries over derived rows, with limits of time and memory."""
