"""States: model, files, journal, locks, and the backends that keep them."""
