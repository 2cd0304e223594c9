"""Queries over derivations, with limits of time and memory."""
