"""One language server for the tests of this room, with a folder that each test has a part of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from editor.client import Editor


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Path]]:
    folder = tmp_path_factory.mktemp("workspace")
    editor = Editor(folder)
    yield editor, folder
    assert editor.close() == 0


@pytest.fixture
def editor(shared: tuple[Editor, Path]) -> Editor:
    return shared[0]


@pytest.fixture
def folder(shared: tuple[Editor, Path], request: pytest.FixtureRequest) -> Path:
    path = shared[1] / request.node.name.replace("[", "-").replace("]", "")
    path.mkdir()
    return path
