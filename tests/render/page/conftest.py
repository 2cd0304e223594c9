"""For tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from render.page.browser import MISSING, browsing


@pytest.fixture(scope="package", autouse=True)
def one_browser() -> Iterator[None]:
    with nullcontext() if MISSING else browsing():
        yield
