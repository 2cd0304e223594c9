"""Errors of services."""

from __future__ import annotations


class ServiceError(OSError):
    """A request to a service failed. `text` gives the reason, on one line or several; `place` is its subject, when that
    is known. `code` is the service's own word for it ("AccessDenied"). `may_pass`: the service is away or busy, so a
    later retry can help."""

    def __init__(self, text: str, place: str = "", code: str = "", may_pass: bool = False) -> None:
        super().__init__(0, text, place or None)
        self.text, self.place, self.code, self.may_pass = text, place, code, may_pass

    def __str__(self) -> str:
        return self.text
