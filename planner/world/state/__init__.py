"""States: their model, files, journals, locks, and the backends that store them."""
