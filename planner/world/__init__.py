"""Everything outside of the configuration: states, providers, and what has to be installed."""
