"""Recipes for a unit's work: programs that run before and after it, retries, limits, and its environment. Plain data
that is sent to a worker with the request; recipe_run.py applies it."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import field, frozen


@frozen
class Hook:
    """A program before (`when` before), after, or on an error of a unit's commands. `pattern`: the pattern that an
    error must match; `always`: also after something else went wrong."""

    name: str
    when: str
    commands: tuple[str, ...]
    words: tuple[str, ...]
    folder: str = ""
    patterns: tuple[str, ...] = ()
    always: bool = False


@frozen
class Retry:
    """An error that one of the patterns (regular expressions) matches causes another try: `times` in all, `pause`
    seconds apart."""

    patterns: tuple[str, ...]
    times: int
    pause: float = 0.0


@frozen
class Role:
    """An AWS role to assume, for a number of seconds (0: the default). `token`: a web identity token, or the file of
    one; without, the keys of the environment are the credentials."""

    arn: str
    session: str = ""
    seconds: int = 0
    token: str = field(default="", repr=False)


@frozen
class RecipeSource:
    """The source of a unit's configuration, when that is a Terragrunt file: `answers` are results of external lookups
    while it was read, `units` (directory, unit) the units whose outputs it may use."""

    config: str
    answers: dict[str, Any] = field(factory=dict, repr=False)
    units: tuple[tuple[str, str], ...] = ()
    stacks: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """directories of stacks that include all of their units: (directory, ((name, directory of a unit)...))"""
    base: str = ""
    """the complete working folder; the unit runs in or below it"""
    private: tuple[str, ...] = ()
    """the lookups with secret results, which another machine repeats"""
    expected: dict[str, str] = field(factory=dict, repr=False)
    """digests of results that must be the same on the other machine (session.py)"""


@frozen
class Recipe:
    """`environment`: variables for all programs of the unit; `auth`: a program that prints more variables; `seconds`:
    the time limit of one command (0: none); `arguments`: -var and -var-file options; `refusals`: the reasons why the
    unit cannot run (in the shape of `validate -json`); `keeps`: the unit must not be destroyed; `lock_file`: the lock
    file of the unit, which is updated from the one in its working directory."""

    hooks: tuple[Hook, ...] = ()
    retries: tuple[Retry, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    auth: tuple[str, ...] = ()
    seconds: float = 0.0
    arguments: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(kind, text, commands)"""
    refusals: tuple[dict[str, Any], ...] = ()
    keeps: bool = False
    lock_file: str = ""
    source: RecipeSource | None = None
    home: str = ""
    """the folder of the unit's own file"""
    role: Role | None = None


NOTHING = Recipe()
