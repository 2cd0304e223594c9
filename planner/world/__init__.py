"""Everything outside of the configuration: states, providers, and packages to install."""
