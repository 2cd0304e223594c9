"""The programs of rules, and the rule files of each program."""
