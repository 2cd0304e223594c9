"""Evaluation of a configuration, common to all walks: contexts, scopes, repetition, conditions, providers, objects."""
