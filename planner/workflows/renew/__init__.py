"""Renews an earlier plan from stored data: only blocks affected by edits are planned again."""
