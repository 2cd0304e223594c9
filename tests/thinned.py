"""Tests over many recorded cases, where some say most of what all of them would: the others are marked slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def thinned(items: Sequence[Any], one_in: int) -> list[Any]:
    """The items as parameters, all but every so many-th marked slow."""
    slow = [pytest.mark.slow]
    rows = [item if type(item) is tuple else (item,) for item in items]
    return [pytest.param(*row, marks=[] if n % one_in == 0 else slow) for n, row in enumerate(rows)]
