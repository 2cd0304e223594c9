"""From rule files to a checked model: names, types, strata."""
