"""The words about drift that all forms of the review share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESTORED, KEPT, CHANGED, OPEN = "restored", "kept", "changed", "unknown"
"""what an apply makes of a drifted attribute: the value of the last apply, the drifted value, another one, or one that
is known only afterwards"""
FATES = {
    RESTORED: "an apply restores it",
    KEPT: "an apply keeps it",
    CHANGED: "an apply changes it to another value",
    OPEN: "known after apply",
}


def remark(change: Mapping[str, Any]) -> str:
    """`was changed outside (last modified 2026-11-28T10:00:00Z by alice)`, as far as the provider has that."""
    drift = change["drift"]
    if change["action"] == "delete":
        fate = {RESTORED: "an apply creates it again", KEPT: "an apply forgets it"}.get(drift["outcome"], "")
        return f"was destroyed outside{f'; {fate}' if fate else ''}"
    at, by = drift["modified_at"], drift["modified_by"]
    last = f" (last modified{f' {at}' if at else ''}{f' by {by}' if by else ''})" if at or by else ""
    return f"was changed outside{last}"
