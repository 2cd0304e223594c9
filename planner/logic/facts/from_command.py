"""The command line to facts: the predicates of rules/inputs/command.dl."""

from __future__ import annotations

from planner.foundation.vocabulary.address import Address, ModuleAddress
from planner.foundation.vocabulary.limits import UNLIMITED, Limits
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.sources import CommandLine


def from_command(facts: FactBuilder, walk: str, limits: Limits = UNLIMITED) -> None:
    """Add the kind of walk, the limits that the command line sets, and the objects that it asks to replace."""
    facts.add("walk", walk, source=CommandLine(walk))
    for option, address in limits.options():
        predicate = "asked_replacement" if option == "replace" else option
        row = (str(address), _form(address), str(address.config))
        facts.add(predicate, *row, source=CommandLine(f"-{option}={address}"))


def _form(address: Address) -> str:
    """How much the address says: a whole module or resource of the configuration, or instances only."""
    keyed = any(key is not None for _, key in address.module.steps)
    if isinstance(address, ModuleAddress):
        return "module_instance" if keyed else "module"
    if address.key is not None:
        return "instance"
    return "resource_instance" if keyed else "resource"
