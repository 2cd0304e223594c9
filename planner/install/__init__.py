"""Installing what a configuration needs from elsewhere: providers and modules. Nothing here is imported while planning;
planning reads the lock file (planner.provider.lock_file) and finds what was installed (planner.provider.locate)."""
