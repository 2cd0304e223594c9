"""The version of planner, and the interpreter limits that its commands need."""

import os
from contextvars import ContextVar

RELEASE = "0.1.0"
COMPATIBLE_VERSION = "1.12.6"  # the version of OpenTofu whose behaviour, files and flags planner follows
# the next version of OpenTofu; PLANNER_COMPATIBILITY=1.13 enables its language
NEXT_VERSION = "1.13.0"

# the recursion limit for nested expressions: hundreds of levels are rare, but the language has no limit; the C stack is
# large enough for this depth
DEPTH = 4000
# the limit for the digits of a whole number: numbers of the language have up to 19,729 digits, and reading millions of
# digits would take minutes
DIGITS = 20_000


TERRAFORM = "terraform"  # the value of PLANNER_COMPATIBILITY for configurations written in Terraform's language
NEXT = "1.13"
COMPATIBILITIES = ("1.12", NEXT, TERRAFORM)
_LANGUAGE: ContextVar[str] = ContextVar("language", default="")


def language() -> str:
    """The language declared in the files of the last loaded configuration: "1.13", "terraform" or "". If none is
    declared, the value of PLANNER_COMPATIBILITY."""
    return _LANGUAGE.get() or os.environ.get("PLANNER_COMPATIBILITY", "")


def set_language(name: str) -> None:
    _LANGUAGE.set(name)


def follows_next() -> bool:
    """Whether the language of OpenTofu's next version is enabled."""
    return language() == NEXT


def has_next_functions() -> bool:
    """Whether functions of OpenTofu's next version can be called; Terraform has some of them."""
    return language() in (NEXT, TERRAFORM)
