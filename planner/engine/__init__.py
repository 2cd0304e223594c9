"""Walks over the graphs that rules derive. There are walks to evaluate, validate, plan and apply."""
