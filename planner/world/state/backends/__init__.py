"""Backends: where states are kept. One file each."""
