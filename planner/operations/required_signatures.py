"""Demands on plans to apply: signatures of plans by keys of the command line and of the organisation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planner.foundation.support.assets import setting_files
from planner.foundation.vocabulary.diagnostic import Failure, error


class Requirement(NamedTuple):
    """Keys of which a number has to have signed. `source`: who demands it."""

    keys: tuple[str, ...]
    number: int = 1
    source: str = "-require-signature"


Approval = tuple[tuple[str, str], ...]
"""A checked approval: the digest of the file (("plan", "sha256:...")), and when each key signed it; () for none"""


def requirements(given: Iterable[Requirement], environ: Mapping[str, str]) -> tuple[Requirement, ...]:
    """The demands of the command line and of the organisation. Raises Failure for settings that cannot be read."""
    given = tuple(Requirement(*one) for one in given)  # plain tuples, where they come from another process
    if not setting_files(environ):
        return given
    from planner.foundation.clients.cli_config import load_cli_config

    settings = load_cli_config(environ)
    if not settings.signature_keys:
        return given
    return (*given, Requirement(settings.signature_keys, settings.signatures_required, "the organisation"))


def refusal(required: Iterable[Requirement]) -> Failure:
    """The failure of an apply without a saved plan, where approvals are demanded."""
    sources = ", ".join(one.source for one in required)
    detail = (
        f"{sources} demands signed plans: save one (plan -out=FILE), let it be signed (planner sign FILE -key=KEY), "
        "and apply it (apply FILE)."
    )
    return Failure(error("signature.unsaved_plan", "Approved plan required", detail))
