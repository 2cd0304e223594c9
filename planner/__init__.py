"""planner: configuration text -> facts -> rules -> graph -> plan -> walk, and a reason for every step."""

__version__ = "0.1.0"
