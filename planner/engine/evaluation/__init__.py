"""What all walks over a configuration share: contexts, scopes, repetition, conditions, providers, objects."""
