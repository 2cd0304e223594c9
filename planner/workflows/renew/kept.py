"""The stored data of a plan: the files that it read, its output and, if it can be renewed in part, the content of the
root module's files, the planned objects, the references between blocks, and the position of each object in the output.
An entry has four parts:

    lengths of the index and the output | index (marshal) | standard output (UTF-8) | pickled objects

The entries are in the user's cache (planner.foundation.support.store). Only entries that this user wrote are
trusted."""

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
    """The stored data that is needed to renew a plan in part."""

    files: dict[str, str]
    """{file of the root module: content}"""
    modules: dict[str, list[str]]
    """{file of a called module: calls (`module.name`) in the root module that use it, directly or through other
    modules}"""
    blocks: dict[str, tuple[str, int, int, str, str]]
    """{resource, data source or call: (file, start, end, repetition argument, argument `provider` or "")}; the
    repetition argument is `count`, `for_each` or `none`"""
    with_data: list[str]
    """data sources, and calls of modules that contain data sources"""
    moved: list[str]
    """blocks that `moved` and `removed` blocks name, and calls of modules that have such blocks"""
    uses: dict[str, list[str]]
    """{block: blocks to which it refers}, with names as in rules/renew/anew.dl"""
    changes: list[tuple[str, str, str, str, int, int]]
    """all changes in the plan's order: (address, resource or module call of the root module, mode, action, start and
    end of its text in the output); start and end are -1 if the change was not printed"""
    outputs: list[tuple[str, str, str, str]]
    """the outputs of the root module: (name, action, sign, value as printed)"""
    told: int
    """position in the output at which the text of the plan starts"""


@frozen(eq=False)
class KeptPlan:
    """A stored plan. `reads`: the files that it read, as in planner.workflows.batch.files_read. `code`: the exit code.
    `lock`: path of the state file if the plan locked it, otherwise "". `errors`: standard error. `parts`: None if the
    plan can be reused only as a whole."""

    reads: list[list[Any]]
    code: int
    lock: str
    errors: str
    parts: RenewableParts | None
    pieces: Sequence[str]
    """standard output, in the pieces in which it was written; after reading from the cache, a single piece"""
    objects: dict[str, tuple[int, int]] = field(factory=dict)
    """{resource or module call: (start, length) of the pickled data with its planned objects or outputs}, as a range of
    `data`; several resources share a range"""
    data: bytes = b""
    plugins: tuple[Any, ...] | None = None
    """result of planner.workflows.renew.plugin_calls.sealed_calls; None if no plugin was called"""

    has_secrets: bool = False
    """whether the planned objects contain sensitive values, so that `data` is encrypted in the cache"""
    is_stored: bool = False
    """whether the plan comes from the cache"""

    def values(self) -> bytes | None:
        """The pickled planned objects, decrypted if necessary; None if decryption fails."""
        return decrypt(self.data, self.reads) if self.has_secrets and self.is_stored else self.data

    @property
    def output(self) -> str:
        return self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)


def shelf() -> Shelf:
    """The shelf of the cache with the stored plans. If the program's code changes, all entries become invalid."""
    return Shelf("plans", 48, 1 << 28, made_by=_folders())


def _folders() -> tuple[str, ...]:
    items = []
    for folder, names, _ in os.walk(PACKAGE):
        names[:] = sorted(name for name in names if not name.startswith(("_", ".")))
        items.append(os.path.relpath(folder, PACKAGE))
    return tuple(items)


def rules_stamp() -> str:
    """A text with the names, sizes and times of the rule files, which differs after a change of a rule."""
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
"""for larger files, in bytes, the key depends on the path but not on the content"""
_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json")


def encrypt(data: bytes, reads: list[list[Any]]) -> bytes | None:
    """The encrypted data of a plan that read these files; None if the user has no key."""
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
    """Store a plan under a name, unless it has sensitive values and the user has no key."""
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
    """The plan that is stored under a name; None if there is none or it cannot be read."""
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
