"""Signatures: keys, and envelopes of signed statements."""
