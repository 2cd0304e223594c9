"""The stored data of a plan: all inputs, the output and, if the plan can be renewed in part, its parts: files, planned
objects, references, and the output for each object.

    index (marshal) | standard output, in UTF-8 | objects of resources, separately

The data is stored in the user's cache (planner.foundation.support.store), and trusted only if this user wrote it."""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from planner.foundation.support.assets import PACKAGE, rules_folder
from planner.foundation.support.digests import blake2b
from planner.foundation.support.disk import read_whole
from planner.foundation.support.store import Shelf, seal
from planner.foundation.vocabulary.records import field, frozen

_LENGTH = 8


@frozen(eq=False)
class RenewableParts:
    """The data of a plan that can be renewed in part."""

    files: dict[str, str]
    """{file of the root module: content}"""
    modules: dict[str, list[str]]
    """{file of a called module: calls (`module.name`) in the root module that use it}"""
    blocks: dict[str, tuple[str, int, int, str, str]]
    """{resource, data source or call: (file, start, end, repetition argument, argument `provider` or "")}; the
    repetition argument is `count`, `for_each` or `none`"""
    with_data: list[str]
    """data sources, and calls of modules with data sources"""
    moved: list[str]
    """blocks that `moved` and `removed` blocks name, and calls of modules that have such blocks"""
    uses: dict[str, list[str]]
    """{block: blocks to which it refers}, as in rules/renew/anew.dl"""
    changes: list[tuple[str, str, str, str, int, int]]
    """each change in order: (address, resource or call, mode, action, start and end in the output); start and end are
    -1 if the change was not printed"""
    outputs: list[tuple[str, str, str, str]]
    """each root output: (name, action, sign, value as printed)"""
    told: int
    """position in the output at which the plan starts"""


@frozen(eq=False)
class KeptPlan:
    """A stored plan. `reads`: entries of planner.workflows.batch.files_read. `lock`: path of the state file, if the
    plan locked it."""

    reads: list[list[Any]]
    code: int
    lock: str
    errors: str
    parts: RenewableParts | None
    pieces: Sequence[str]
    """standard output, as written"""
    objects: dict[str, tuple[int, int]] = field(factory=dict)
    """{resource: position of its planned objects in `data`}; several resources share a position"""
    data: bytes = b""
    plugins: tuple[Any, ...] | None = None
    """fields of planner.workflows.renew.plugin_calls.PluginCalls; None if there are no plugins"""

    has_secrets: bool = False
    """whether `data` contains sensitive values and is encrypted in the cache"""
    is_stored: bool = False
    """whether the plan comes from the cache"""

    def values(self) -> bytes | None:
        """The pickled planned objects; None if decryption fails."""
        return decrypt(self.data, self.reads) if self.has_secrets and self.is_stored else self.data

    @property
    def output(self) -> str:
        return self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)


def shelf() -> Shelf:
    """The store of plans. A change of the program's code invalidates all entries."""
    return Shelf("plans", 48, 1 << 28, made_by=_folders())


def _folders() -> tuple[str, ...]:
    items = []
    for folder, names, _ in os.walk(PACKAGE):
        names[:] = sorted(name for name in names if not name.startswith(("_", ".")))
        items.append(os.path.relpath(folder, PACKAGE))
    return tuple(items)


def rules_stamp() -> str:
    """Names, sizes and times of the rule files."""
    items = []
    for folder, names, files in os.walk(rules_folder()):
        names.sort()
        for name in sorted(name for name in files if not name.endswith(".md")):
            status = os.stat(os.path.join(folder, name))
            items.append((folder, name, status.st_size, status.st_mtime_ns))
    return repr(items)


# Encryption with a key that is not in the cache. The key is derived from the user's key, the environment, and all files
# that were read, except configuration files, which may be edited before the data is used again.


_NONCE = 12
_LARGEST = 1 << 24
"""the key does not depend on the content of files with more bytes than this"""
_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


def encrypt(data: bytes, reads: list[list[Any]]) -> bytes | None:
    """The data of a plan that read these files, encrypted; None if the user has no key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key, nonce = _key(reads), os.urandom(_NONCE)
    return None if key is None else nonce + AESGCM(key).encrypt(nonce, data, None)


def decrypt(data: bytes, reads: list[list[Any]]) -> bytes | None:
    """The decrypted data; None if the environment or the files have changed, or the data is damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = _key(reads)
    try:
        return None if key is None else AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], None)
    except (InvalidTag, ValueError):
        return None


def _key(reads: list[list[Any]]) -> bytes | None:
    from planner.world.provider.plugin.kept_answers import UNRELATED

    made = blake2b(digest_size=32)
    for name, value in sorted(os.environ.items()):
        if name not in UNRELATED:
            made.update(os.fsencode(f"{name}={value}\0"))
    for path, kind, *_ in reads:
        data = b""
        if kind == "file" and not path.endswith(_CONFIGURATION):
            with suppress(OSError):
                data = read_whole(path) if os.path.getsize(path) <= _LARGEST else b""
        for part in (os.fsencode(path), data):
            made.update(len(part).to_bytes(8, "little"))
            made.update(part)
    return seal("kept plans", "", made.digest())


def write(to: Shelf, name: str, kept: KeptPlan) -> None:
    """Store a plan, unless it has secrets and the user has no key."""
    parts = kept.parts
    data = encrypt(kept.data, kept.reads) if kept.has_secrets else kept.data
    if data is None:
        return
    index = marshal.dumps(
        (
            kept.reads,
            kept.code,
            kept.lock,
            kept.errors,
            kept.objects,
            kept.plugins,
            kept.has_secrets,
            None
            if parts is None
            else (
                parts.files,
                parts.modules,
                parts.blocks,
                parts.with_data,
                parts.moved,
                parts.uses,
                parts.changes,
                parts.outputs,
                parts.told,
            ),
        )
    )
    output = b"".join([piece.encode("utf-8", "surrogatepass") for piece in kept.pieces])
    lengths = len(index).to_bytes(_LENGTH, "little") + len(output).to_bytes(_LENGTH, "little")
    to.store_parts(name, (lengths, index, output, data))


def read(at: Shelf, name: str) -> KeptPlan | None:
    """The plan that is stored under a name; None if there is none that can be read."""
    result = at.load(name)
    if result is None:
        return None
    try:
        first, second = (int.from_bytes(result[k : k + _LENGTH], "little") for k in (0, _LENGTH))
        begin = 2 * _LENGTH
        reads, code, lock, errors, objects, plugins, has_secrets, parts = marshal.loads(result[begin : begin + first])
        text = str(result[begin + first : begin + first + second], "utf-8", "surrogatepass")
        return KeptPlan(
            reads,
            code,
            lock,
            errors,
            None if parts is None else RenewableParts(*parts),
            (text,),
            objects,
            result[begin + first + second :],  # type: ignore[arg-type]  # a view is read as bytes are
            plugins,
            has_secrets,
            is_stored=True,
        )
    except (ValueError, TypeError, EOFError):
        return None
