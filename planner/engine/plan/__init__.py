"""Planning: moves, refreshing, decisions, changes, in addition to the parts that all walks share."""
