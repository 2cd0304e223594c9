"""Encryption of states and plans: envelopes, key providers and methods. This package does not depend on the
configuration language."""
