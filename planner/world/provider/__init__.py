"""Providers: the protocol that they answer, the builtin one, and those that run as plugins."""
