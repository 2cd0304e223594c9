"""Key providers: sources of keys. Each key provider is a module with the name that configurations use."""
