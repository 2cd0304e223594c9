"""Limits of the interpreter that a command needs set otherwise."""

from __future__ import annotations

DEPTH = 4000  # expressions nested hundreds deep are rare, but the language sets no limit; the C stack bears this
DIGITS = 20_000  # the language's whole numbers have up to 19,729; to read millions in some file would take minutes
