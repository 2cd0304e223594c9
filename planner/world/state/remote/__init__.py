"""States in services: the interface that each backend implements (client), and the store that uses it."""
