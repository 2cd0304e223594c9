"""The types that stages exchange: Plan, Graph, and the sources of facts."""
