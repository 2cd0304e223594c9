"""Evaluation of a configuration, shared by all walks: contexts, scopes, repetition, conditions, providers, objects."""
