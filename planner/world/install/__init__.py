"""Installing the packages that a configuration needs: providers and modules. Nothing in this package is imported while
planning. Planning reads the lock file (planner.world.provider.lock_file) and finds installed packages
(planner.world.provider.locate)."""
