"""Text to typed syntax: the configuration language, JSON, the rule language, and sets of vertices."""
