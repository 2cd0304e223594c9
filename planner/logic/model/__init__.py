"""The border types that stages give each other: Plan, Graph, and where facts come from."""
