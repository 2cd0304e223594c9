"""The address that a misspelt one most likely meant, for messages."""

from __future__ import annotations

from collections.abc import Collection

from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_address
from planner.foundation.vocabulary.nearest import did_you_mean

_FEW = 6
"""names that are listed"""


def instead(text: str, known: Collection[str]) -> str:
    """What there is in place of an address, ready to append to a sentence: one that is written alike, else the same
    thing in another module, else what there is of the same type. Empty when there is nothing of the kind."""
    names = sorted(known)
    alike = did_you_mean(text, names)
    if alike:
        return alike
    try:
        address = parse_address(text)
    except AddressError:
        return ""
    if isinstance(address, ModuleAddress):
        return _listed("The modules are", [name for name in names if _is_module(name)])
    tail = address.config.relative
    same = next((name for name in names if name == tail or name.endswith(f".{tail}")), "")
    if same:
        return f' Did you mean "{same}"?'
    kind = tail.rpartition(".")[0]
    listed = [name for name in names if " " not in name and _in_its_module(name).startswith(f"{kind}.")]
    return _listed(f"Of {kind} there are", listed)


def _in_its_module(text: str) -> str:
    try:
        address = parse_address(text)
    except AddressError:
        return text
    return str(address) if isinstance(address, ModuleAddress) else address.relative


def _is_module(text: str) -> bool:
    try:
        return isinstance(parse_address(text), ModuleAddress)
    except AddressError:
        return False


def _listed(lead: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f" {lead} {', '.join(names[:_FEW])}{more}."
