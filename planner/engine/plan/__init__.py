"""Planning: moves, refreshing, decisions and changes; the parts that all walks share are elsewhere."""
