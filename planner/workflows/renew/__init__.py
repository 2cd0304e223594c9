"""Renews an earlier plan from stored data: only edited blocks are planned again."""
