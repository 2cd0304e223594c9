"""Values, their types and numbers, and the schemas of objects."""
