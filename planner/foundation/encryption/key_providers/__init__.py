"""Key providers: sources of keys. Each has a file with the name that configurations use."""
