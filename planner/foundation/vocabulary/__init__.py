"""Concepts that all other packages share: addresses, diagnostics, spans."""
