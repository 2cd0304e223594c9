"""Why does the plan say what it says: facts about where values and actions come from, and proofs."""
