"""Flags of batch commands, and the options that they set."""

from __future__ import annotations

import os

from planner.api.base import Work
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import (
    JSON,
    LOCK,
    MINIMAL_REFRESH,
    OPERATION,
    named_values,
    plan_mode,
    required_signatures,
    revision,
)
from planner.cli.review import LINKS, Review
from planner.workflows.batch.saved_plan import MOST_SHARDS
from planner.workflows.batch.session import BatchOptions
from planner.workflows.batch.unit_options import UnitArguments

AROUND = (
    Flag("identity-token", "list", "The file with an identity token for stacks. May be repeated.", value="NAME=FILE"),
    Flag("varset-dir", "string", "The directory with variable sets of stacks (varsets).", value="DIR"),
    Flag("upstream", "list", "The directory of an upstream stack. May be repeated.", value="ADDRESS=DIR"),
)
"""flags that replace services of the stacks platform"""
SELECT = (
    Flag("file", "string", "The fleet file (planner.batch.hcl).", value="FILE"),
    Flag("tag", "list", "Select only units with this tag. May be repeated.", value="TAG"),
    Flag("group", "list", "Select only units of this group. May be repeated.", value="GROUP"),
    Flag("changed", "string", "Select only units that read a file changed since this git revision.", value="REV"),
    Flag("exclude", "list", "Exclude this set of units, written like WORDS. May be repeated.", value="WORD"),
    Flag("rules", "list", "The directory of your fleet rules (default: .planner/batch-rules).", value="DIR"),
    *AROUND,
)
RUN = (
    Flag(
        "executor",
        "string",
        "Where units run: processes (the default; planning may begin in this process), inline,"
        " dask://HOST:PORT, dask+tls://HOST:PORT, ray://HOST:PORT or command:WORDS.",
        "",
        "WHERE",
    ),
    Flag(
        "bundles",
        "string",
        "How workers on other machines get the files of units: scheduler (with each job), a shared directory, or "
        "the URL of a service.",
        "",
        "STORE",
    ),
    Flag("workers", "int", "The number of units that run at a time (default: one per processor).", 0, "N"),
    Flag("no-cache", "bool", "Do not use results of earlier runs."),
    Flag("parallelism", "int", "The maximum number of concurrent operations in a unit (default: 10).", 10, "N"),
    Flag("refresh", "bool", "Do not read the real objects before planning.", True),
    MINIMAL_REFRESH,
    *LOCK,
)
REUSE = Flag("reuse", "duration", "Reuse plans whose real objects were read at most this long ago.", 0.0, "DURATION")
ASK = (
    Flag("var", "ordered", "Set a variable in all units that declare it, or in one unit.", value="[UNIT:]NAME=VALUE"),
    Flag("var-file", "ordered", "Read variables from a file, for all units or for one.", value="[UNIT:]FILE"),
    Flag("target", "list", "Plan only this object of the unit and its dependencies.", value="UNIT:ADDRESS"),
    Flag("replace", "list", "Replace this resource instance of the unit.", value="UNIT:ADDRESS"),
)
JUDGE = (
    Flag(
        "policy",
        "list",
        "Also check the plan of each unit against the policies in this directory or file, or against builtin:NAME.",
        value="PATH",
    ),
    Flag(
        "policy-override",
        "list",
        "Accept denials with this code. Needs -override-reason. May be repeated.",
        value="CODE",
    ),
    Flag("override-reason", "string", "The reason for the override; it is recorded.", value="TEXT"),
)
SHARD = Flag(
    "shard",
    "string",
    "Run one shard of the units, such as the third of 20 (3/20), for parallel jobs: see batch join.",
    value="K/N",
)
DEFER = next(flag for flag in OPERATION if flag.name == "allow-deferral")
MODE = (
    Flag("destroy", "bool", "Plan to destroy everything that the units manage."),
    Flag("refresh-only", "bool", "Compare the states with the real objects, and report only drift."),
)
REPORTS = (
    JSON,
    Flag("report", "string", "Write the output of -json to this file.", value="FILE"),
    Flag("junit", "string", "Write a JUnit XML report for CI servers.", value="FILE"),
    Flag("markdown", "string", "Write the report as Markdown, for a comment on a pull request.", value="FILE"),
    Flag("html", "string", "Write an HTML page with the fleet's graph and all changes.", value="FILE"),
    Flag("review", "string", "Write the review as JSON (planner schema review).", value="FILE"),
    *LINKS,
    Flag("show", "bool", "Show the plan of every unit that has changes."),
)
WORDS = """WORDS are directories, or patterns of directories, to search for units (default: the working directory; its
planner.batch.hcl, or its Terragrunt files, may define the units), and sets of units to select from these: names,
patterns of names and directories, tag:T, group:G, changed:REV, reading:FILE, outcome:failed (or another outcome of the
last run); deps(...) of a set adds its dependencies and rdeps(...) its dependents, optionally up to a depth
(rdeps(net, 2)); sets combine with +, &, - and parentheses. Without WORDS all units are selected."""


def batch_options(arguments: Arguments) -> BatchOptions:
    """The options of a batch command, from its flags and words. Raises UsageError for invalid values."""
    if arguments.get("workers", 0) < 0:
        raise UsageError("Option -workers must not be negative", "0 means one per processor.")
    if arguments.get("parallelism", 10) < 1:
        raise UsageError("Option -parallelism must be at least 1")
    return BatchOptions(
        tuple(arguments.words),
        arguments["file"],
        tuple(arguments["tag"]),
        tuple(arguments["group"]),
        arguments["changed"],
        tuple(arguments["exclude"]),
        arguments.get("executor", "inline"),
        arguments.get("bundles", ""),
        arguments.get("workers", 0),
        not arguments.get("no-cache", False),
        Work.of_command(
            mode=plan_mode(arguments),
            refresh=arguments.get("refresh", True),
            minimal_refresh=bool(arguments.get("minimal-refresh")),
            lock=arguments.get("lock", True),
            lock_timeout=arguments.get("lock-timeout", 0.0),
            parallelism=arguments.get("parallelism", 10),
            since=revision(arguments)[1],
            allow_deferral=bool(arguments.get("allow-deferral")),
            signatures=required_signatures(arguments),
        ).options,
        tuple(arguments["rules"]),
        bool(arguments.get("show") or arguments.get("html")),
        bool(Review(arguments) or arguments.get("out") or arguments.get("shard")),
        arguments.get("reuse", 0.0),
        shard=_shard(arguments.get("shard", "")),
        asked=UnitArguments(
            tuple(arguments.ordered),
            tuple(arguments.get("target", ())),
            tuple(arguments.get("replace", ())),
            *_judging(arguments),
        ),
        around=_around(arguments),
    )


def _around(arguments: Arguments) -> tuple[tuple[str, str, str], ...]:
    """(kind, name, value) of the flags -identity-token, -upstream and -varset-dir, which replace services of the stacks
    platform. Raises UsageError."""
    items = []
    for flag, kind in (("identity-token", "token"), ("upstream", "upstream")):
        for name, value in named_values(arguments, flag).items():
            items.append((kind, name, os.path.abspath(value)))
    folder = arguments.get("varset-dir", "")
    return (*items, ("varsets", "", os.path.abspath(folder))) if folder else tuple(items)


def _judging(arguments: Arguments) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The policies that -policy names for each unit, the codes of accepted denials, and the reason for accepting them.
    Raises UsageError if the reason is missing, and for policies that do not exist."""
    # in `batch policy`, -policy names policies for all units together
    if arguments.get("policy-override") is None:
        return (), (), ""
    overrides, reason = tuple(arguments["policy-override"]), arguments["override-reason"].strip()
    if overrides and not reason:
        raise UsageError("Option -policy-override needs a reason", "State the reason with -override-reason=TEXT.")
    policies = []
    for word in arguments["policy"]:
        if not word.startswith("builtin:") and not os.path.exists(word):
            raise UsageError(f"-policy={word} does not exist", "The file or directory does not exist.")
        policies.append(word if word.startswith("builtin:") else os.path.abspath(word))
    return tuple(policies), overrides, reason


def _shard(text: str) -> tuple[int, int]:
    """Parse the value of -shard: `3/20` -> (3, 20); "" -> (0, 0). Raises UsageError."""
    return _shard_of(text) if text else (0, 0)


def _shard_of(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if slash and all(part.isascii() and part.isdigit() and len(part) <= 5 for part in (number, count)):
        result = int(number), int(count)
        if 1 <= result[0] <= result[1] <= MOST_SHARDS:
            return result
    raise UsageError(
        "Option -shard must be K/N",
        f"{text} is not a shard. For example, 3/20 is the third of twenty; at most {MOST_SHARDS:,} are allowed.",
    )
