"""Errors of installing, as an exception inside this package; its border turns it into diagnostics."""

from __future__ import annotations


class InstallError(Exception):
    """A plain sentence without a full stop. `kind` distinguishes errors that callers treat differently: "" for
    anything, not_found (the source does not know the provider or module), no_platform (no package for this
    platform)."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
