"""What the system refuses has a reason: `strerror` is None for errors that no call of the system made."""

from __future__ import annotations

import re
from pathlib import Path

import planner

_BARE = re.compile(r"(?<!and )\b\w+\.strerror\b(?! or |\()")


def test_no_message_says_none() -> None:
    found = [
        f"{path}:{number}"
        for path in sorted(Path(planner.__file__).parent.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _BARE.search(line)
    ]
    assert found == []
