"""The version of planner, and the interpreter limits that its commands need."""

import os
from contextvars import ContextVar

RELEASE = "0.1.0"
COMPATIBLE_VERSION = "1.12.6"  # the version of OpenTofu whose behaviour, files and flags planner follows
# the next version of OpenTofu, whose language is available if the environment variable PLANNER_COMPATIBILITY is 1.13
NEXT_VERSION = "1.13.0"

# the recursion limit, for nested expressions: hundreds of levels are rare, but the language has no limit; the C stack
# is large enough for this depth
DEPTH = 4000
# the limit for the digits of a whole number: numbers of the language have up to 19,729 digits, and reading millions of
# digits would take minutes
DIGITS = 20_000


TERRAFORM = "terraform"  # the value of PLANNER_COMPATIBILITY for configurations written in Terraform's language
NEXT = "1.13"
COMPATIBILITIES = ("1.12", NEXT, TERRAFORM)
_LANGUAGE: ContextVar[str] = ContextVar("language", default="")


def language() -> str:
    """The language that the files of the last loaded configuration state: 1.13, terraform, or "" for neither. If the
    files state none, the value of PLANNER_COMPATIBILITY."""
    return _LANGUAGE.get() or os.environ.get("PLANNER_COMPATIBILITY", "")


def set_language(name: str) -> None:
    """Set the language that the files of the current configuration state."""
    _LANGUAGE.set(name)


def follows_next() -> bool:
    """Whether the language of the next version of OpenTofu is requested."""
    return language() == NEXT


def has_next_functions() -> bool:
    """Whether functions of the next version of OpenTofu, which Terraform has in part, can be called."""
    return language() in (NEXT, TERRAFORM)
