"""Tools for authors of rules: test cases, descriptions, costs."""
