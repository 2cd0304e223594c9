"""Values, their types and numbers, and the schemas that objects have."""
