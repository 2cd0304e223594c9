"""The table of stages says what is true: each function is there, and takes and gives what it says."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from planner.pipeline import STAGES, Stage


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_stage_takes_and_gives_what_the_table_says(stage: Stage) -> None:
    signature = inspect.signature(getattr(import_module(stage.module), stage.function))
    words = [set(re.findall(r"\w+", str(p.annotation))) for p in signature.parameters.values()]
    for border in stage.takes:
        # a type variable bound to the options stands for them
        assert any(border in found or (border == "Options" and "A" in found) for found in words), border
    assert stage.gives in re.findall(r"\w+", str(signature.return_annotation))


def test_names_of_stages_are_unique() -> None:
    assert len({stage.name for stage in STAGES}) == len(STAGES)
