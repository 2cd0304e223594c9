"""Backends store states. Each type is a module of this package."""
