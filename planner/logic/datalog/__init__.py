"""The rule engine. It knows nothing of infrastructure."""
