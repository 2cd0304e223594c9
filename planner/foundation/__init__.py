"""The ground of every other wing: addresses, diagnostics, spans, values, types, encryption, clients of services."""
