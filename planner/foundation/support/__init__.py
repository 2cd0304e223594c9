"""Access to the machine for all stages: files, archives, JSON, signals, paths."""
