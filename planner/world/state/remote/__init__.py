"""States in services: the interface that a backend implements (client), and the store that uses it."""
