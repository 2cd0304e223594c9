"""The owner of a generated file: its first line ends with the mark of its writer."""

from __future__ import annotations

import os

from planner.foundation.support.disk import read_whole

MOST = 4096
"""bytes of a first line that are looked at"""


def ends_with_mark(path: str, mark: str) -> bool:
    """Whether the first line of a file ends with a mark. A link has no owner."""
    if os.path.islink(path):
        return False
    try:
        line = read_whole(path).split(b"\n", 1)[0][:MOST]
    except OSError:
        return False
    return line.decode("utf-8", "replace").strip().endswith(mark)
