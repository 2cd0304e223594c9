"""This release, and limits of the interpreter that its commands need."""

import os
from contextvars import ContextVar

RELEASE = "0.1.0"
COMPATIBLE_VERSION = "1.12.6"  # the version of OpenTofu whose behaviour, files and flags planner follows
# the announced version of OpenTofu, whose language is available if the variable PLANNER_COMPATIBILITY is 1.13
NEXT_VERSION = "1.13.0"

# nesting of expressions: hundreds of levels are rare, but the language sets no limit; the C stack suffices for this
DEPTH = 4000
# digits of a whole number: the language's numbers have up to 19,729; reading millions of them would take minutes
DIGITS = 20_000


TERRAFORM = "terraform"  # the value of PLANNER_COMPATIBILITY for configurations written in Terraform's language
NEXT = "1.13"
COMPATIBILITIES = ("1.12", NEXT, TERRAFORM)
_LANGUAGE: ContextVar[str] = ContextVar("language", default="")


def language() -> str:
    """The language that the files of the last loaded configuration state: 1.13, terraform, or "" for neither. If they
    state none, the value of PLANNER_COMPATIBILITY."""
    return _LANGUAGE.get() or os.environ.get("PLANNER_COMPATIBILITY", "")


def set_language(name: str) -> None:
    """Set the language that the files of the configuration being loaded state."""
    _LANGUAGE.set(name)


def follows_next() -> bool:
    """Whether the language of the next version of OpenTofu is requested."""
    return language() == NEXT


def has_next_functions() -> bool:
    """Whether functions of the next version of OpenTofu, which Terraform has in part, can be called."""
    return language() in (NEXT, TERRAFORM)
