"""Evaluates a configuration, for all walks: contexts, scopes, repetition, conditions, providers, objects."""
