"""Encryption methods. Each method is a module with the name that configurations use."""
