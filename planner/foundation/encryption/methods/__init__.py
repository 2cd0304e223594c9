"""Encryption methods. Each has a file with the name that configurations use."""
