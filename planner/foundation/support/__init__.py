"""What every stage may need of the machine: files, archives, JSON, signals, where things are."""
