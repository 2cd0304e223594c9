"""Installing the packages that a configuration needs: providers and modules. Nothing here is imported while planning;
planning reads the lock file (planner.world.provider.lock_file) and finds installed packages
(planner.world.provider.locate)."""
