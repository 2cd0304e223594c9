"""The programs, and the rule files of each."""
