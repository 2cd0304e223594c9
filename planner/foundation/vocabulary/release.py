"""This release, and limits of the interpreter that its commands need."""

import os
from contextvars import ContextVar

RELEASE = "0.1.0"
COMPATIBLE_VERSION = "1.12.6"  # of OpenTofu: planner follows its behaviour, files and flags
NEXT_VERSION = "1.13.0"  # announced: its language is available where the variable PLANNER_COMPATIBILITY is 1.13

DEPTH = 4000  # expressions nested hundreds deep are rare, but the language sets no limit; the C stack bears this
DIGITS = 20_000  # the language's whole numbers have up to 19,729; to read millions in some file would take minutes


TERRAFORM = "terraform"  # the value of PLANNER_COMPATIBILITY for configurations written in Terraform's language
NEXT = "1.13"
COMPATIBILITIES = ("1.12", NEXT, TERRAFORM)
_LANGUAGE: ContextVar[str] = ContextVar("language", default="")


def language() -> str:
    """The language of the configuration that was loaded last, as its files state: 1.13, terraform, or "" for neither.
    Otherwise the value of PLANNER_COMPATIBILITY."""
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
