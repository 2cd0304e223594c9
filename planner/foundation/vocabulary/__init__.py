"""Concepts that all stages share: addresses, diagnostics, spans."""
