"""Providers: their interface, the built-in provider, and providers that run as plugins."""
