"""The lines of files that differ from the last commit."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from planner.foundation.vocabulary.diagnostic import Failure

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def edited_since_commit(directory: str) -> Callable[[dict[str, Any]], bool]:
    """Whether the line of a source (in the format of proofs) differs from the last commit; never where there is no
    repository. Git runs once for each file."""

    @cache
    def lines(file: str) -> frozenset[int]:
        from planner.world.git.revisions import GitError, run

        try:
            text, _ = run(directory, ["diff", "--no-ext-diff", "--no-color", "-U0", "HEAD", "--", file])
        except (GitError, Failure):
            return frozenset()
        hunks = ((int(hunk[1]), int(hunk[2] or 1)) for hunk in _HUNK.finditer(text))
        return frozenset(line for start, number in hunks for line in range(start, start + number))

    return lambda source: "line" in source and source["line"] in lines(str(source["file"]))
