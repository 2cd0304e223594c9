"""Tests over many recorded cases, where some say most of what all of them would: the others are marked slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def thinned(items: Sequence[Any], one_in: int) -> list[Any]:
    """The items as parameters, all but every so many-th marked slow."""
    slow = [pytest.mark.slow]
    return [item if n % one_in == 0 else pytest.param(item, marks=slow) for n, item in enumerate(items)]
