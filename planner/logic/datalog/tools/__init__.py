"""Tools for people who write rules: cases, descriptions, costs."""
