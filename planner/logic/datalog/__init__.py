"""The rule engine. The engine knows nothing about infrastructure."""
