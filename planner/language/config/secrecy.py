"""Whether a configuration is encrypted, by a quick look at its text: then nothing of what it says is kept in caches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from planner.foundation.support.disk import read_whole
from planner.language.config.directory import module_files

VARIABLE = "TF_ENCRYPTION"
_BLOCK = re.compile(rb'(?:^|[\s{])encryption\s*\{|"encryption"\s*:')


def is_secret(texts: Iterable[bytes]) -> bool:
    """Whether the files of a root module may have an encryption block, or the environment has one. Says yes too often,
    never too seldom."""
    return bool(os.environ.get(VARIABLE, "").strip()) or any(map(_has_block, texts))


def _has_block(text: bytes) -> bool:
    return b"encryption" in text and _BLOCK.search(text) is not None


def is_secret_directory(directory: str) -> bool:
    """The same of the root module in a directory."""
    try:
        files = module_files(directory)
        return is_secret(read_whole(os.path.join(directory, name)) for name in (*files.normal, *files.override))
    except OSError:
        return is_secret(())
