"""Planning: moves, refreshing, decisions, changes, in addition to the parts common to all walks."""
