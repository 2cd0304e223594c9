"""Encryption of states and plans: envelopes, key providers and methods. Nothing is known here of configurations."""
