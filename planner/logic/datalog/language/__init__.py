"""From written rules to a checked model: names, types, strata."""
