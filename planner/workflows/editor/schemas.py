"""The schemas at hand where rule files are written: those of the providers that the configuration around them uses."""

from __future__ import annotations

import atexit
import os
from functools import lru_cache

from planner.answers.policy.shapes import Shapes
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.operations.load import load
from planner.operations.options import Options
from planner.operations.policy_shapes import shapes_of

_ENDINGS = (".tf", ".tofu", ".tf.json", ".tofu.json")
_HIGHEST = 5
"""folders that are gone up to find a configuration"""


def shapes_near(path: str) -> Shapes:
    """The types of objects by those schemas; none where no configuration is, or it cannot be read."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(_HIGHEST):
        if _is_configuration(folder):
            return _shapes(folder, os.stat(folder).st_mtime_ns)
        folder = os.path.dirname(folder)
    return _nothing


def _is_configuration(folder: str) -> bool:
    try:
        return any(name.endswith(_ENDINGS) for name in os.listdir(folder))
    except OSError:
        return False


@lru_cache(maxsize=8)
def _shapes(folder: str, changed: int) -> Shapes:
    try:
        loaded = load(Options(folder), Diagnostics())
        atexit.register(loaded.schemas.close)
        return shapes_of(loaded.schemas, loaded.config)
    except Failure:
        return _nothing


class _NoSchemas:
    """No schemas."""

    def __call__(self, mode: str, type: str) -> None:
        return None

    def types(self, mode: str) -> tuple[str, ...]:
        return ()

    def lacks(self, mode: str, type: str) -> str:
        return ""


_nothing = _NoSchemas()
