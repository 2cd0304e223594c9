"""Access to the operating system for all other packages: files, archives, JSON, signals, paths."""
