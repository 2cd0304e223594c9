"""How units ended when they were last run, by the records of a fleet."""

from __future__ import annotations

import os
from collections.abc import Container

from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.batch import FOLDER
from planner.workflows.batch.record import Record, is_run

MOST = 50
"""runs that are looked into, the newest first"""
_TELLING = ("plan", "apply", "destroy")


def last_outcomes(root: str, units: Container[str]) -> dict[str, tuple[str, str]]:
    """Unit -> outcome, and the run that says so. Validations say nothing."""
    found: dict[str, tuple[str, str]] = {}
    try:
        names = sorted((n for n in os.listdir(os.path.join(root, FOLDER)) if is_run(n)), reverse=True)
    except OSError:
        return found
    for name in names[:MOST]:
        record = Record(root, name)
        try:
            if record.asked().get("command") not in _TELLING:
                continue
        except Failure:
            continue  # it was cut off at its very beginning
        ended: dict[str, str] = {}
        for event in record.events():
            if event["event"] == "finished":
                ended[event["unit"]] = event.get("outcome", "")
        for unit, outcome in ended.items():
            if unit in units:
                found.setdefault(unit, (outcome, name))
    return found
