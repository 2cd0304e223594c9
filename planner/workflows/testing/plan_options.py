"""`plan_options` of runs: the addresses that they name, and what follows from there being any."""

from __future__ import annotations

from planner.foundation.vocabulary.address import Address, AddressError, ResourceAddress, address_of
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.limits import Limits
from planner.language.config.model import Reference
from planner.language.config.reading import steps_of
from planner.language.config.test_files.model import TestRun


def is_limited(run: TestRun) -> bool:
    """Whether the plan of a run is none from which one sees what is wrong with the configuration by itself."""
    return run.settings.mode != "normal" or bool(run.settings.targets)


def limits_of(run: TestRun) -> tuple[Limits, list[Diagnostic]]:
    """The addresses of `plan_options`, and problems with them."""
    problems: list[Diagnostic] = []
    targets = [_address(reference, problems) for reference in run.settings.targets]
    replace = []
    for reference in run.settings.replace:
        address = _address(reference, problems)
        if address is None:
            continue
        if not isinstance(address, ResourceAddress):
            detail = "A resource instance must follow the module path."
            problems.append(error("test.replace", "Invalid address", detail, reference.span))
        elif address.mode != "managed":
            title = "Can only target managed resources for forced replacements."
            problems.append(error("test.replace", title, str(address), reference.span))
        else:
            replace.append(address)
    return Limits(tuple(a for a in targets if a is not None), (), tuple(replace)), problems


def _address(reference: Reference, problems: list[Diagnostic]) -> Address | None:
    try:
        return address_of(steps_of(reference.node))
    except AddressError as bad:
        problems.append(error("test.address", bad.summary, bad.detail, reference.span))
        return None
