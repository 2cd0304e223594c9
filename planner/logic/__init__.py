"""Facts and rules: the rule engine, the programs of rules/, and the graphs that they derive."""
