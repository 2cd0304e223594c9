"""Planning: moves, refreshing, decisions and changes."""
