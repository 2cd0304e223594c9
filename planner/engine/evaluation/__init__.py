"""The evaluation of configurations, which all walks share: contexts, scopes, repetition, conditions, providers,
objects."""
