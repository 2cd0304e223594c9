"""Rules as written to a checked model: names, types, strata."""
