"""Stacks: components and deployments, which are planned and applied by the engine for root modules."""
