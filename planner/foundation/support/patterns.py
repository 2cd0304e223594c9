"""How deep regular expressions nest: compiling one takes memory by the square of that."""

from __future__ import annotations

MOST_NESTED = 1000
"""groups within each other; as many as Go's regular expressions may have"""


def is_too_deep(pattern: str) -> bool:
    """Whether more groups stand within each other than anybody can mean. In doubt, a bracket counts as one."""
    if pattern.count("(") <= MOST_NESTED:
        return False
    depth = 0
    is_escaped = False
    for character in pattern:
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif character == "(":
            depth += 1
            if depth > MOST_NESTED:
                return True
        elif character == ")":
            depth -= 1
    return False
