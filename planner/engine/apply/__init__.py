"""What applying does besides what all walks do: operations of providers, provisioners, the new state."""
