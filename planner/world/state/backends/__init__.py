"""Backends, which keep states: one module for each type."""
