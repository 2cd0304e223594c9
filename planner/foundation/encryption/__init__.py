"""Encryption of states and plans: envelopes, key providers and methods. Independent of the configuration language."""
