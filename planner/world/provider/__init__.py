"""Providers: their interface, the builtin one, and those that run as plugins."""
