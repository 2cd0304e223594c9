"""The rule engine, which is independent of infrastructure."""
