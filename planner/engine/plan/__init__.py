"""What planning does besides what all walks do: moves, refreshing, decisions, changes."""
