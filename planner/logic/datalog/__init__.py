"""The rule engine. The rule engine. It does not depend on infrastructure."""
