"""planner: configuration text -> facts -> rules -> graph -> plan -> walk, and a reason for every step."""

__version__ = "0.1.0"

DEPTH = 4000  # expressions nested hundreds deep are rare, but the language sets no limit; the C stack bears this
DIGITS = 20_000  # the language's whole numbers have up to 19,729; to read millions in some file would take minutes
