"""The base of all other packages: addresses, diagnostics, spans, values, types, encryption, clients of services."""
