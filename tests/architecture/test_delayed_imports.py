"""An import within a function delays a module that few commands need; one that is loaded anyway belongs at the top."""

from __future__ import annotations

from import_graph import imports, loaded_with


def test_nothing_is_delayed_that_is_loaded_anyway() -> None:
    delayed = (one for one in imports() if one.kind == "function")
    assert [str(one) for one in delayed if one.target in loaded_with(one.module)] == []
