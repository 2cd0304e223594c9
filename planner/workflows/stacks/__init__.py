"""Stacks: components and deployments on the engine of root modules."""
