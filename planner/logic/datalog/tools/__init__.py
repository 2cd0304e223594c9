"""Tools for authors of rules: cases, descriptions, costs."""
