"""The rule engine. It knows nothing about infrastructure."""
