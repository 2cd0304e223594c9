"""The options that a plan was made with, as words of a question about the same plan."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Any

from planner.operations.plan import MadePlan


def plan_words(made: MadePlan[Any]) -> str:
    """The options, each with a blank behind it. Values of sensitive variables are left out."""
    return "".join(f"{quote(word)} " for word in _words(made))


def _words(made: MadePlan[Any]) -> Iterator[str]:
    options = made.loaded.options
    declared = made.loaded.config.root.variables
    if made.plan.mode == "destroy":
        yield "-destroy"
    if not options.refresh:
        yield "-refresh=false"
    for kind, text in options.var_args:
        name = text.partition("=")[0].strip()
        hides = kind == "var" and name in declared and declared[name].sensitive
        yield f"-{kind}={f'{name}=...' if hides else text}"
    if options.since:
        yield f"-since={options.since}"
    yield from (f"-{option}={address}" for option, address in options.limits.options())
