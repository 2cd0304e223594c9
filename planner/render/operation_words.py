"""The words for operations in progress, shared by the human and the JSON hooks."""

from __future__ import annotations

EPHEMERAL = {"open": ("Opening...", "Open complete"), "renew": ("Renewing...", "Renew complete")}
EPHEMERAL["close"] = ("Closing...", "Close complete")


def duration_text(seconds: float) -> str:
    """Whole seconds as people read them: `5s`, `1m5s`, `2h0m0s`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def output_lines(text: str) -> list[str]:
    """The lines that a provisioner wrote, without blanks at their ends and without empty ones."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.rstrip() for line in lines if line.strip()]
