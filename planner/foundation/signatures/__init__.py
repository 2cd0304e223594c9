"""Signatures: keys, and envelopes of what is signed."""
