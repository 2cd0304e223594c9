"""Assigns the options of the command line to units: variables, targets, replacements and policies. An option is an
error if it names an unknown unit, a unit that is not selected, or a variable that no selected unit declares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ResourceAddress,
    parse_address,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.limits import UNLIMITED, Limits
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen

Pairs = tuple[tuple[str, str], ...]
A = TypeVar("A", Address, ResourceAddress)


@frozen
class UnitArguments:
    """The options as written on the command line. `variables`: ("var", [UNIT:]NAME=VALUE) and ("var-file", [UNIT:]FILE)
    in order. `targets`, `replace`: UNIT:ADDRESS. `policies`: additional policies for each plan (absolute paths and
    builtin:NAME). `overrides`: codes of accepted denials, with the `reason`."""

    variables: Pairs = ()
    targets: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    reason: str = ""


NOTHING_ASKED = UnitArguments()


@frozen
class UnitOptions:
    """The options for one unit."""

    variables: Pairs = ()
    limits: Limits = UNLIMITED
    policies: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    reason: str = ""


NOTHING = UnitOptions()


def targeted(arguments: UnitArguments, units: Iterable[str]) -> tuple[str, ...]:
    """The units that the -target options name, sorted. Raises Failure."""
    problems: list[Diagnostic] = []
    result = _addresses("target", parse_address, arguments.targets, list(units), problems)
    if problems:
        raise Failure(problems)
    return tuple(sorted({unit for unit, _ in result}))


def of_units(
    arguments: UnitArguments,
    selected: Sequence[str],
    units: Sequence[str],
    declared: Callable[[str], Sequence[str] | None],
) -> dict[str, UnitOptions]:
    """{selected unit: its options}. `units`: all units of the fleet. `declared`: a function that returns the root
    variables of a unit; None if its configuration cannot be read. Raises Failure with all errors."""
    problems: list[Diagnostic] = []
    variables: dict[str, list[tuple[str, str]]] = {unit: [] for unit in selected}
    for kind, text in arguments.variables:
        add = _add_file if kind == "var-file" else _add_variable
        add(text, variables, units, declared, problems)
    targets = _addresses("target", parse_address, arguments.targets, units, problems)
    replace = _addresses("replace", parse_resource_instance, arguments.replace, units, problems)
    for option, item in (("target", targets), ("replace", replace)):
        problems += [_not_selected(f"-{option}={u}:{a}", u) for u, a in item if u not in variables]
    if problems:
        raise Failure(problems)
    return {
        unit: UnitOptions(
            tuple(variables[unit]),
            Limits(
                tuple(address for name, address in targets if name == unit),
                (),
                tuple(address for name, address in replace if name == unit),
            ),
            arguments.policies,
            arguments.overrides,
            arguments.reason,
        )
        for unit in selected
    }


def _add_variable(
    text: str,
    variables: dict[str, list[tuple[str, str]]],
    units: Sequence[str],
    declared: Callable[[str], Sequence[str] | None],
    problems: list[Diagnostic],
) -> None:
    left, equals, value = text.partition("=")
    unit, colon, name = left.rpartition(":")
    shown = f"-var={left}=..."  # hide the value, which may be secret
    if not equals or not name:
        problems.append(_wrong(shown.rstrip("=."), "is not NAME=VALUE or UNIT:NAME=VALUE"))
        return
    if colon and unit not in variables:
        problems.append(_not_selected(shown, unit) if unit in units else _unknown(shown, unit, units))
        return
    meant = [unit] if colon else list(variables)
    takers = [one for one in meant if (names := declared(one)) is None or name in names]
    if not takers:
        known = sorted({other for one in meant for other in declared(one) or ()})
        who = f"The unit {unit} declares no" if colon else "None of the selected units declares a"
        detail = f"{who} variable {name}.{did_you_mean(name, known)}"
        problems.append(error("batch.unknown_variable", f"{shown} names no variable", detail))
    for one in takers:
        variables[one].append(("var", f"{name}={value}"))


def _add_file(
    text: str,
    variables: dict[str, list[tuple[str, str]]],
    units: Sequence[str],
    declared: Callable[[str], Sequence[str] | None],
    problems: list[Diagnostic],
) -> None:
    unit, colon, file = text.partition(":")
    if not (colon and unit in units):
        unit, file = "", text
    if unit and unit not in variables:
        problems.append(_not_selected(f"-var-file={text}", unit))
    elif not os.path.isfile(file):
        detail = f"There is no file {file}, relative to the working directory."
        problems.append(error("batch.var_file", f"-var-file={text} names no file", detail))
    else:
        for one in [unit] if unit else variables:
            variables[one].append(("var-file", os.path.abspath(file)))


def _addresses(
    option: str, parse: Callable[[str], A], texts: Iterable[str], units: Sequence[str], problems: list[Diagnostic]
) -> list[tuple[str, A]]:
    """(unit, address) for each valid argument UNIT:ADDRESS; errors about the others are added to `problems`."""
    result = []
    for text in texts:
        unit, colon, address = text.partition(":")
        shown = f"-{option}={text}"
        if not colon:
            problems.append(_wrong(shown, f"is not UNIT:ADDRESS: name the unit of {text}"))
        elif unit not in units:
            problems.append(_unknown(shown, unit, units))
        else:
            try:
                result.append((unit, parse(address)))
            except AddressError as bad:
                problems.append(_wrong(shown, f"has no valid address after the unit: {bad.detail}"))
    return result


def _wrong(shown: str, why: str) -> Diagnostic:
    return error("batch.asked", "An option cannot be read", f"{shown} {why}.")


def _unknown(shown: str, unit: str, units: Iterable[str]) -> Diagnostic:
    detail = f"No unit is called {unit}.{did_you_mean(unit, units)}"
    return error("batch.unknown_unit", f"{shown} does not name a unit", detail)


def _not_selected(shown: str, unit: str) -> Diagnostic:
    detail = f"The unit {unit} is not among the units that the command selects."
    return error("batch.not_selected", f"{shown} names a unit that is not selected", detail)
