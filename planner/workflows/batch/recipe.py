"""Recipes for a unit's work: programs that run before and after it, retries, limits, and its environment. Plain data
that is sent to a worker with the request; recipe_run.py applies it."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import field, frozen


@frozen
class Hook:
    """A program before (`when` before), after, or on an error of a unit's commands. `pattern`: the hook runs if an
    error matches this pattern; `always`: it runs even if something else failed."""

    name: str
    when: str
    commands: tuple[str, ...]
    words: tuple[str, ...]
    folder: str = ""
    patterns: tuple[str, ...] = ()
    always: bool = False


@frozen
class Retry:
    """If one of the patterns (regular expressions) matches an error, the command is tried again: `times` tries in all,
    with a pause of `pause` seconds."""

    patterns: tuple[str, ...]
    times: int
    pause: float = 0.0


@frozen
class Role:
    """An AWS role to assume, for a number of seconds (0: the default). `token`: a web identity token, or the file that
    contains one; without it, the keys in the environment are the credentials."""

    arn: str
    session: str = ""
    seconds: int = 0
    token: str = field(default="", repr=False)


@frozen
class RecipeSource:
    """The source of a unit's configuration, if it is a Terragrunt file: `answers` are the results of external lookups
    while the file was read, `units` are the units whose outputs it may use, as (directory, unit)."""

    config: str
    answers: dict[str, Any] = field(factory=dict, repr=False)
    units: tuple[tuple[str, str], ...] = ()
    stacks: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """the directories of stacks, each with all of its units: (directory, ((name, directory of a unit)...))"""
    base: str = ""
    """the complete working directory; the unit runs in it or below it"""
    private: tuple[str, ...] = ()
    """the lookups with secret results; another machine must repeat them"""
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
    """the directory of the unit's own file"""
    role: Role | None = None


NOTHING = Recipe()
