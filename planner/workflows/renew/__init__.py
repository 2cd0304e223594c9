"""Renews a stored plan after edits of the configuration. Only blocks that the edits affect are planned again."""
