"""Tests over many recorded cases, where some say most of what all of them would: the others are marked slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def thinned(items: Sequence[Any], one_in: int) -> list[Any]:
    """The items as parameters, all but every so many-th marked slow."""
    return [_parameter(item, n % one_in > 0) for n, item in enumerate(items)]


def _parameter(item: Any, is_slow: bool) -> Any:
    marks = [pytest.mark.slow] if is_slow else []
    if hasattr(item, "marks"):  # a parameter already
        return pytest.param(*item.values, id=item.id, marks=[*item.marks, *marks])
    return pytest.param(*(item if type(item) is tuple else (item,)), marks=marks)
