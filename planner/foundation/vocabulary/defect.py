"""Exceptions that nobody expected, as diagnostics: mistakes in planner itself, what the machine refuses, and what is
nested too deeply."""

from __future__ import annotations

import errno
import os

from planner.foundation.vocabulary.diagnostic import Diagnostic, error

_REFUSED = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
)
"""what is not up to a program: a disk that is full or broken, permissions, limits"""


def defect(problem: Exception, address: str = "") -> Diagnostic:
    """What to say of an exception; with PLANNER_DEBUG also where it happened. `address`: what was being worked on."""
    debugging = os.environ.get("PLANNER_DEBUG")
    if isinstance(problem, RecursionError) and not debugging:
        detail = "Something in the configuration or in the state is nested deeper than planner can follow."
        return error("cli.too_deep", "Nested too deeply", detail, address=address)
    if isinstance(problem, OSError) and problem.errno in _REFUSED and not debugging:
        where = f"{problem.filename}: " if problem.filename is not None else ""
        detail = f"{where}{problem.strerror or problem}."
        return error("cli.system", "The machine does not allow it", detail, address=address)
    what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    advice = "Run again with PLANNER_DEBUG=1 to see where it happened."
    if debugging:
        advice = _trace(problem)
    detail = f"{what}\n\nThis is a mistake in planner, not in your configuration: please report it. {advice}"
    return error("cli.internal_error", "Internal error", detail, address=address)


def _trace(problem: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(problem))
