"""Words that all stages share: addresses, diagnostics, spans."""
