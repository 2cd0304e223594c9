"""The bytecode of the modules that a command loads, all in one entry of the user's cache: a start reads one file
instead of looking for, opening and reading some three hundred.

It holds for a module as long as the file of its source has the size and the time that it had, which is what Python asks
of its own files of bytecode. Any module that is not there, or not as it was, is loaded as usual; once many are missing,
the entry is written anew when the command ends. The index is under the sum of the store, each module's code under a
digest that the index has.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from types import CodeType
from typing import TYPE_CHECKING, Any

from planner.foundation.support.digests import blake2b
from planner.foundation.support.store import Shelf, is_writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

BUNDLES = Shelf("bytecode", 60, 100 << 20)
_FEW = 10
"""modules; to load so few as usual takes no longer than to write the entry anew some time"""
_HEAD = 16
"""bytes of a file of bytecode before the code: a number for the format, flags, time and size of the source"""
_DIGEST = 16
_PREFIX = "planner."

Place = tuple[str, int, int, str, bool, int, int, bytes]
"""the source's path, size and time (ns); where Python keeps the bytecode; whether it is a package; where the code is in
the entry, how long, its digest"""


class _Loader(SourceFileLoader):
    """Loads a module from code that was read already."""

    def __init__(self, name: str, path: str, code: memoryview) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType | None:
        code: CodeType = marshal.loads(self.code)
        return code


class BytecodeBundle:
    """A finder of modules (PEP 451) for one command."""

    def __init__(self, command: str) -> None:
        self._name = BUNDLES.name(command, os.path.dirname(__file__), str(sys.flags.optimize))
        self._index: dict[str, Place] = {}
        self._code = memoryview(b"")
        entry = BUNDLES.open(self._name)
        if entry is not None:
            try:
                self._index, length = marshal.loads(entry.head)
                self._code = memoryview(entry.read(0, length))
            except (OSError, ValueError, EOFError, TypeError):
                self._index = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        place = self._index.get(name)
        if place is None:
            return None
        source, size, time, cached, is_package, start, length, digest = place
        try:
            status = os.stat(source)
        except OSError:
            del self._index[name]
            return None
        code = self._code[start : start + length]
        if status.st_size != size or status.st_mtime_ns != time or _digest(code) != digest:
            del self._index[name]
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def keep(self) -> None:
        """Write the entry anew if it lacks many of the modules that are loaded by now."""
        missing = [name for name in sys.modules if name.startswith(_PREFIX) and name not in self._index]
        if len(missing) < _FEW:
            return
        index: dict[str, Place] = {}
        parts: list[bytes | memoryview] = []
        at = 0
        for name, place, code in (*self._known(), *self._found(missing)):
            index[name] = (*place, at, len(code), _digest(code))
            parts.append(code)
            at += len(code)
        BUNDLES.store(self._name, marshal.dumps((index, at)), b"".join(parts))

    def _known(self) -> Iterator[tuple[str, Any, bytes | memoryview]]:
        for name, (*place, start, length, _) in self._index.items():
            yield name, place, self._code[start : start + length]

    def _found(self, names: list[str]) -> Iterator[tuple[str, Any, bytes | memoryview]]:
        for name in names:
            spec = getattr(sys.modules[name], "__spec__", None)
            if spec is None or spec.loader.__class__ is not SourceFileLoader or not spec.origin or not spec.cached:
                continue
            try:
                status = os.stat(spec.origin)
                code = _kept(spec.cached, status) or marshal.dumps(spec.loader.get_code(name))
            except (OSError, SyntaxError, ValueError):
                continue
            is_package = spec.submodule_search_locations is not None
            yield name, (spec.origin, status.st_size, status.st_mtime_ns, spec.cached, is_package), code


def _digest(code: bytes | memoryview) -> bytes:
    return blake2b(code, digest_size=_DIGEST).digest()


def _kept(path: str, source: os.stat_result) -> memoryview | None:
    """The code in a file of bytecode, if it is of a source as it is now."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    stamps = (number & 0xFFFF_FFFF for number in (int(source.st_mtime), source.st_size))
    head = b"".join([MAGIC_NUMBER, bytes(4), *(stamp.to_bytes(4, "little") for stamp in stamps)])
    return memoryview(data)[_HEAD:] if data[:_HEAD] == head else None


def bundled(command: str) -> BytecodeBundle | None:
    """From now on modules come from the entry of a command, as far as they are there. None: nothing is kept here."""
    if not is_writable():
        return None
    bundle = BytecodeBundle(command)
    sys.meta_path.insert(0, bundle)
    return bundle
