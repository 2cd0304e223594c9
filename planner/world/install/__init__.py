"""Installs the packages that a configuration needs: providers and modules. Planning does not import this package: it
reads the lock file (planner.world.provider.lock_file) and locates installed packages
(planner.world.provider.locate)."""
