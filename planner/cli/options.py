"""Flags of several commands, and the options that they set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from planner.cli.flags import FALSE, Arguments, Flag, UsageError
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ResourceAddress,
    parse_resource_instance,
    parse_target,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.limits import Limits, Mode
from planner.foundation.vocabulary.span import Source, Span

if TYPE_CHECKING:
    from planner.api.base import Requirement, Work

W = TypeVar("W", bound="Work")

VARIABLES = (
    Flag("var", "ordered", "Set an input variable of the root module. May be repeated.", value="NAME=VALUE"),
    Flag("var-file", "ordered", "Read input variables from a file. May be repeated.", value="FILE"),
)
LOCK = (
    Flag("lock", "bool", "Do not lock the state. Dangerous if others use it at the same time.", True),
    Flag("lock-timeout", "duration", "The maximum time to wait for the lock of the state.", 0.0, "DURATION"),
)
STATE = (
    *LOCK,
    Flag("state", "string", "Read the state from this file, for the local backend.", value="FILE"),
    Flag("state-out", "string", "Write the state to this file, for the local backend.", value="FILE"),
    Flag("backup", "string", 'Keep the former state in this file; "-" keeps none.', value="FILE"),
)
SIGNATURES = (
    Flag(
        "require-signature",
        "list",
        "Apply a saved plan only if a key in this file or directory has signed it. May be repeated.",
        value="KEYS",
    ),
    Flag("signatures", "int", "The number of different keys that must have signed the plan.", 1, "N"),
)
RULES = Flag("rules", "list", "Read your own rules from this directory (default: .planner/rules).", value="DIR")
_HOW = (None, True, False, "", "none", "line", "full")
WHY = Flag("explain", "string", "Show the cause under each change: none, line or full.", value="HOW")
SINCE = Flag("since", "string", "Find the causes among the changes since this git revision.", value="REF")
SERVED = (
    Flag("serve", "bool", "Serve the page on the loopback interface, and plan again when files are saved."),
    Flag("port", "int", "Serve on this port (default: any free port).", 0, "PORT"),
)
MINIMAL_REFRESH = Flag("minimal-refresh", "bool", "Read only the real objects that are about to change.")
OPERATION = (
    Flag("parallelism", "int", "The maximum number of concurrent provider operations (default: 10).", 10, "N"),
    Flag(
        "provider-parallelism",
        "list",
        "The number of concurrent operations of one provider (local name, source address or type). May be repeated.",
        value="NAME=N",
    ),
    Flag("refresh", "bool", "Do not read the real objects before planning.", True),
    MINIMAL_REFRESH,
    Flag("refresh-only", "bool", "Detect only changes made outside planner, and plan to record them."),
    Flag("target", "list", "Plan only this object and its dependencies. May be repeated.", value="ADDRESS"),
    Flag("target-file", "list", "Like -target, with the addresses in a file, one per line.", value="FILE"),
    Flag("exclude", "list", "Do not plan this object and its dependents. May be repeated.", value="ADDRESS"),
    Flag("exclude-file", "list", "Like -exclude, with the addresses in a file, one per line.", value="FILE"),
    Flag("replace", "list", "Replace this resource instance. May be repeated.", value="ADDRESS"),
    Flag("invoke", "list", "Invoke this action, and change nothing else. May be repeated.", value="ADDRESS"),
    Flag(
        "allow-deferral",
        "bool",
        "Defer objects to a later plan if count or for_each is unknown, or if their provider defers them.",
    ),
    RULES,
)
DESTROY = Flag("destroy", "bool", "Plan to destroy all managed objects.")
IGNORE_REMOTE_VERSION = Flag(
    "ignore-remote-version", "bool", "Change the state even if runs on the server use a different version of OpenTofu."
)
INPUT = Flag("input", "bool", "Disable prompts; fail if an answer is needed.", True)
OFFLINE = Flag("offline", "bool", "Do not call providers: plan from their schemas and the state alone.")
POLICY = (
    Flag(
        "policy",
        "list",
        "Also check the plan against the policies in this directory or file, or against builtin:NAME (the policies "
        "in .planner/policies always apply).",
        value="DIR",
    ),
    Flag(
        "policy-override",
        "list",
        "Accept denials with this code. Needs -override-reason. May be repeated.",
        value="CODE",
    ),
    Flag("override-reason", "string", "The reason for the override; it is recorded.", value="TEXT"),
)
JSON = Flag("json", "bool", "Print JSON.")
JSON_LINES = (
    Flag("json", "bool", "Print one JSON object per line, for programs."),
    Flag("json-into", "string", "Print text, and also write the JSON lines to this file.", value="FILE"),
)
JSON_DOCUMENT = (
    JSON,
    Flag("json-into", "string", "Print text, and also write the JSON to this file.", value="FILE"),
)
SHOW_SENSITIVE = Flag("show-sensitive", "bool", "Show sensitive values.")


def may_ask(arguments: Arguments) -> bool:
    """Whether prompts are possible. They are not possible with -input=false, TF_INPUT=false or JSON output."""
    if arguments.get("json"):
        return False
    environment = os.environ.get("TF_INPUT", "")
    return bool(arguments.get("input", True)) and environment not in FALSE


def loading_calls(calls: type[W], arguments: Arguments, directory: str = ".") -> W:
    """An object of the class `calls`, which reads a configuration, with the options that the flags set."""
    return calls.of_command(**_loading(arguments, directory))


def state_calls(calls: type[W], arguments: Arguments, directory: str = ".") -> W:
    """An object of the class `calls`, which reads or writes a state, with the options that the flags set."""
    return calls.of_command(**_loading(arguments, directory), **_storing(arguments))


def plan_calls(
    calls: type[W],
    arguments: Arguments,
    mode: Mode = "normal",
    directory: str = ".",
    needs_configuration: bool = False,
) -> W:
    """An object of the class `calls`, which plans or answers questions about plans, with the options that the flags
    set. Raises UsageError, and Failure for invalid addresses and revisions."""
    mode = plan_mode(arguments, mode)
    targets = _addresses(arguments, "target")
    excludes = _addresses(arguments, "exclude")
    if targets and excludes:
        raise UsageError(
            "Conflicting options", "A plan can be limited either by -target or by -exclude, but not by both."
        )
    if targets and arguments.get("allow-deferral"):
        detail = "-allow-deferral determines the objects that are left out: remove -target."
        raise UsageError("Conflicting options", detail)
    if arguments.get("policy-override") and not arguments.get("override-reason", "").strip():
        raise UsageError("Option -policy-override needs a reason", "State the reason with -override-reason=TEXT.")
    if arguments.get("explain") not in _HOW:
        raise UsageError("Wrong value for option -explain", "Valid values are none, line and full.")
    if arguments.get("parallelism", 10) < 0:
        raise UsageError("Option -parallelism must not be negative")
    return calls.of_command(
        **_loading(arguments, directory),
        **_storing(arguments),
        command=arguments.command,
        mode=mode,
        refresh=arguments.get("refresh", True),
        minimal_refresh=bool(arguments.get("minimal-refresh")),
        limits=Limits(targets, excludes, _instances(arguments, "replace"), _instances(arguments, "invoke")),
        allow_deferral=bool(arguments.get("allow-deferral")),
        parallelism=arguments.get("parallelism", 10) or 10,
        provider_parallelism=tuple(map(_provider_bound, arguments.get("provider-parallelism", ()))),
        generate_config_out=arguments.get("generate-config-out") or None,
        needs_configuration=needs_configuration,
        **policy_options(arguments, directory),
        policy_overrides=tuple(arguments.get("policy-override", ())),
        policy_reason=arguments.get("override-reason", "").strip(),
        suppress_forget_errors=bool(arguments.get("suppress-forget-errors")),
        since=revision(arguments, directory)[0],
        signatures=required_signatures(arguments),
    )


def required_signatures(arguments: Arguments) -> tuple[Requirement, ...]:
    """The signatures required by -require-signature. Raises UsageError."""
    keys, number = tuple(arguments.get("require-signature", ())), arguments.get("signatures", 1)
    if number < 1:
        raise UsageError("Option -signatures must be at least 1")
    if not keys:
        if "signatures" in arguments.given:
            raise UsageError("Option -signatures needs keys", "Name the keys with -require-signature=KEYS.")
        return ()
    from planner.api.base import Requirement

    return (Requirement(keys, number),)


def revision(arguments: Arguments, directory: str = ".") -> tuple[str, str]:
    """The revision that -since names, and its commit; ("", "") without the flag. Raises Failure for an unknown
    revision."""
    if "since" not in arguments.given:
        return "", ""
    from planner.world.git.revisions import commit_of

    ref = arguments["since"]
    return ref, commit_of(directory, ref)


def _loading(arguments: Arguments, directory: str) -> dict[str, Any]:
    return {
        "directory": directory,
        "var_args": tuple(arguments.ordered),
        "rules": _rules(arguments, directory),
        "offline": bool(arguments.get("offline")),
    }


def policy_options(arguments: Arguments, directory: str = ".") -> dict[str, Any]:
    """{option: value} of the options for checking plans by policies."""
    named, standing = _policies(arguments, directory), _standing(arguments)
    if not any(word.endswith(".py") for word in (*named, *standing)):
        return {"policies": named, "standing_policies": standing}
    from planner.api.plan import Judged
    from planner.api.policies import python_policies

    more = python_policies((*named, *standing), os.path.abspath(directory), Judged.of)
    return {"policies": named, "standing_policies": standing, "more_policies": more}


def _storing(arguments: Arguments) -> dict[str, Any]:
    return {
        "lock": arguments.get("lock", True),
        "lock_timeout": arguments.get("lock-timeout", 0.0),
        "state_path": _state_path(arguments),
        "state_out": arguments.get("state-out") or None,
        "backup": arguments.get("backup") or None,
        "ignore_remote_version": arguments.get("ignore-remote-version", False),
    }


def check_minimal_refresh(arguments: Arguments, reads_all: bool) -> None:
    """Raises UsageError if -minimal-refresh conflicts with other options. `reads_all`: whether the purpose of the plan
    is to read all objects."""
    if arguments.get("minimal-refresh") and (reads_all or not arguments.get("refresh", True)):
        detail = "-minimal-refresh reads only objects that are about to change: remove "
        raise UsageError("Conflicting options", detail + ("-refresh-only." if reads_all else "-refresh=false."))


def plan_mode(arguments: Arguments, mode: Mode = "normal") -> Mode:
    """The mode that -destroy or -refresh-only selects, otherwise `mode`. Raises UsageError if these options, or
    -refresh=false or -minimal-refresh, conflict."""
    if arguments.get("destroy") and arguments.get("refresh-only"):
        raise UsageError("Conflicting options", "-destroy and -refresh-only are different kinds of plans: choose one.")
    reads_all = mode == "refresh-only" or bool(arguments.get("refresh-only"))
    check_minimal_refresh(arguments, reads_all)
    if arguments.get("refresh-only"):
        if not arguments.get("refresh", True):
            raise UsageError(
                "Conflicting options",
                "-refresh-only reads the real objects, but -refresh=false prevents this: "
                "remove one of the two options.",
            )
        return "refresh-only"
    return "destroy" if arguments.get("destroy") else mode


def _provider_bound(text: str) -> tuple[str, int]:
    """`NAME=N` -> (NAME, N). Raises UsageError."""
    name, _, number = text.rpartition("=")
    if not name:
        raise UsageError("Option -provider-parallelism needs a provider and a number", f"{text!r} is not NAME=N.")
    if not (number.isascii() and number.isdigit() and int(number[:20]) >= 1):
        detail = f"{text!r} has the number {number!r}; it must be at least 1."
        raise UsageError("Option -provider-parallelism needs a whole number of 1 or more", detail)
    return name, int(number[:20])


def _rules(arguments: Arguments, directory: str) -> tuple[str, ...]:
    """The directories of -rules, by default the rules directory of the configuration."""
    given: tuple[str, ...] = tuple(arguments.get("rules", ()))
    own = os.path.join(directory, ".planner", "rules")
    return given or ((os.path.normpath(own),) if os.path.isdir(own) else ())


def _policies(arguments: Arguments, directory: str) -> tuple[str, ...]:
    """The configuration's policies and the policies of -policy; () if the command checks no policies."""
    if arguments.get("policy") is None:
        return ()
    from planner.answers.policy.standing_policies import own

    return tuple(dict.fromkeys((*own(directory), *arguments["policy"])))


def _standing(arguments: Arguments) -> tuple[str, ...]:
    """The organisation's policies; () if the command checks no policies."""
    if arguments.get("policy") is None:
        return ()
    from planner.answers.policy.standing_policies import organisation

    return organisation("policies", os.environ)


def _state_path(arguments: Arguments) -> str | None:
    """The path of -state; None in `show`, where -state is a bool flag."""
    path = arguments.get("state")
    return path if isinstance(path, str) and path else None


_NAMED = {
    "replace": ("managed", "replaced", "Only instances of managed resources can be replaced."),
    "invoke": ("action", "invoked", "Only actions can be invoked: action.TYPE.NAME."),
}


def _instances(arguments: Arguments, option: str) -> tuple[ResourceAddress, ...]:
    """The addresses of -replace (instances of managed resources) or -invoke (actions). Raises Failure for other
    addresses."""
    mode, verb, rule = _NAMED[option]
    items: list[ResourceAddress] = []
    problems: list[Diagnostic] = []
    for text in arguments.get(option, ()):
        title = f'-{option}="{text}" names nothing that can be {verb}'
        try:
            address = parse_resource_instance(text)
        except AddressError as problem:
            problems.append(error("cli.address", title, problem.detail))
            continue
        if address.mode != mode:
            problems.append(error("cli.address", title, rule))
        items.append(address)
    if problems:
        raise Failure(problems)
    return tuple(items)


def _addresses(arguments: Arguments, name: str) -> tuple[Address, ...]:
    """The addresses of the flag -NAME, and the addresses in the files that -NAME-file names. Raises Failure for invalid
    addresses."""
    items: list[Address] = []
    problems: list[Diagnostic] = []
    for text in arguments.get(name, ()):
        try:
            items.append(parse_target(text))
        except AddressError as problem:
            problems.append(error("cli.address", f'-{name}="{text}" is not a valid address', problem.detail))
    for path in arguments.get(f"{name}-file", ()):
        try:
            source = Source(path, read_text(path, given=True))
        except (OSError, ValueError) as problem:
            problems.append(error("cli.address_file", f"Cannot read the file of -{name}-file", f"{path}: {problem}."))
            continue
        for number, start in enumerate(source.line_starts, 1):
            line = source.line_text(number)
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                items.append(parse_target(line))
            except AddressError as problem:
                end = problem.end if problem.end > problem.start else len(line)
                span = Span(source, start + problem.start, start + end)
                problems.append(error("cli.address", problem.summary, problem.detail, span))
    if problems:
        raise Failure(problems)
    return tuple(items)


def named_values(arguments: Arguments, flag: str) -> dict[str, str]:
    """{name: value} of a repeated flag NAME=VALUE. Raises UsageError."""
    pairs = {}
    for text in arguments.get(flag, ()):
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"Wrong value for option -{flag}", f"{text!r} does not have the form NAME=VALUE.")
        pairs[name] = value
    return pairs
