"""Recipes. A recipe contains the programs that run before and after a unit, retries, limits, and the environment. It is
plain data that is sent to a worker with the request; recipe_run.py uses it."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.records import field, frozen


@frozen
class Hook:
    """A program that runs before or after a unit's command, or after its error (`when`: before, after, error).
    `patterns`: regular expressions; if there are any, the hook runs only if the error matches one of them. `always`:
    the hook runs even after an earlier failure."""

    name: str
    when: str
    commands: tuple[str, ...]
    words: tuple[str, ...]
    folder: str = ""
    patterns: tuple[str, ...] = ()
    always: bool = False


@frozen
class Retry:
    """The command runs again if its error matches one of the regular expressions: at most `times` runs in total, with
    `pause` seconds between them."""

    patterns: tuple[str, ...]
    times: int
    pause: float = 0.0


@frozen
class Role:
    """An AWS role to assume. `seconds`: duration, 0 for the default. `token`: a web identity token or the file that
    contains it; without a token, the credentials in the environment are used."""

    arn: str
    session: str = ""
    seconds: int = 0
    token: str = field(default="", repr=False)


@frozen
class RecipeSource:
    """The Terragrunt file of a unit. `answers`: the results of external lookups while the file was read. `units`: units
    whose outputs the file may use, as (directory, unit)."""

    config: str
    answers: dict[str, Any] = field(factory=dict, repr=False)
    units: tuple[tuple[str, str], ...] = ()
    stacks: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """stacks with all their units: (directory, ((unit name, unit directory)...))"""
    base: str = ""
    """the directory into which the unit's source is copied; the unit runs in this directory or in a subdirectory"""
    private: tuple[str, ...] = ()
    """lookups whose results are secret; they are not sent, so another machine must repeat these lookups"""
    expected: dict[str, str] = field(factory=dict, repr=False)
    """{lookup: digest of its result}; the digest must be equal on the machine that runs the unit (session.py)"""


@frozen
class Recipe:
    """The settings for running a unit. `environment`: variables for all programs of the unit. `auth`: the command of a
    program that prints further environment variables, such as credentials. `seconds`: time limit of a command, 0 for
    none. `refusals`: diagnostics that explain why the unit cannot run (in the form of `validate -json`). `keeps`: the
    unit must not be destroyed (prevent_destroy). `lock_file`: the lock file in the unit's own directory, which is
    updated with the lock file of its working directory."""

    hooks: tuple[Hook, ...] = ()
    retries: tuple[Retry, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    auth: tuple[str, ...] = ()
    seconds: float = 0.0
    arguments: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """-var and -var-file arguments, as (kind "var" or "var-file", text, commands to which the argument applies)"""
    refusals: tuple[dict[str, Any], ...] = ()
    keeps: bool = False
    lock_file: str = ""
    source: RecipeSource | None = None
    home: str = ""
    """directory of the unit's own file"""
    role: Role | None = None


NOTHING = Recipe()
