"""Compresses data to exactly the same bytes as OpenTofu 1.13: DEFLATE (RFC 1951) as written by Go 1.27 at its default
level. planner.language.functions.deflate has the gzip format, the codes and their headers.

Matches are found with hashes of four and of seven bytes; for the longer hash, two positions are remembered. The data is
cut into blocks of 65,535 bytes, and a block may reuse the codes of the previous one."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from planner.language.functions import deflate as common
from planner.language.functions.deflate import Bits, Codes

_BLOCK = 65_535
_WINDOW = 1 << 15
_HISTORY = 5 * _BLOCK  # bytes that the compressor buffers before it discards all but one window
_MARGIN = 11
_LONGEST = 258  # the maximum length of a match, in bytes
_NONE = -_BLOCK  # marks an empty entry: a position that is too far away for a match
_END = 256
_SMALL = 250  # fixed codes are considered below this number of tokens
_GUESSED_HEADER = 70 * 8
_NEW_CODES = 7  # new codes must save at least 1 / 2**7 of a block's size
_WORDS = struct.Struct("<Q")
_FLOAT, _INT = struct.Struct("<f"), struct.Struct("<i")
_IMPOSSIBLE = (1 << 31) - 1
_MASK = (1 << 64) - 1


def gzip(data: bytes) -> bytes:
    """The output of Go's gzip writer after one write with all data, a flush and a close."""
    return common.in_frame(data, deflate(data))


def deflate(data: bytes) -> bytes:
    """The compressed data of `gzip`, without its header and trailer."""
    writer, matches = _BlockWriter(), _MatchFinder(data)
    begins = range(0, len(data), _BLOCK)
    for begin in begins:
        end = min(begin + _BLOCK, len(data))
        _write_block(writer, matches, data[begin:end], begin, is_last=begin == begins[-1])
    writer.store(b"")
    writer.end()
    return bytes(writer.out.bytes)


def _write_block(writer: _BlockWriter, matches: _MatchFinder, source: bytes, begin: int, is_last: bool) -> None:
    size = len(source)
    if size <= 32:
        writer.store(source)
    elif size < 128:
        writer.literals(source, is_last)
    else:
        tokens = matches.tokens(begin, begin + size)
        if not tokens:
            writer.store(source)
        elif len(tokens) > size - (size >> 4):
            writer.literals(source, is_last)
        else:
            writer.block(tokens, source, is_last)


# ---------------------------------------------------------------- matches


class _MatchFinder:
    """Divides a block into literals and matches with earlier occurrences."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.short: dict[int, int] = {}
        self.long: dict[int, tuple[int, int]] = {}
        """{hash: (last position, second last position)}"""
        self.base = 0
        """the position at which the history begins"""

    def word(self, at: int) -> int:
        """The eight bytes at an offset as a little-endian number."""
        word: int = _WORDS.unpack_from(self.data, at)[0]
        return word

    def remember(self, hash: int, at: int) -> None:
        self.long[hash] = (at, self.long.get(hash, (_NONE, _NONE))[0])

    def length(self, at: int, before: int, end: int) -> int:
        data, count, part = self.data, 0, 16
        while at + count < end:
            part = min(part * 4, end - at - count)
            mine, other = data[at + count : at + count + part], data[before + count : before + count + part]
            if mine != other:
                differs = int.from_bytes(mine, "little") ^ int.from_bytes(other, "little")
                return count + ((differs & -differs).bit_length() - 1 >> 3)
            count += part
        return count

    def tokens(self, begin: int, end: int) -> list[int]:
        """The tokens of a block: literals, and matches (`length << 16 | distance`)."""
        if end - self.base > _HISTORY:
            self.base = begin - _WINDOW
        data, base, short = self.data, self.base, self.short
        tokens: list[int] = []
        at = emitted = begin
        last = end - _MARGIN
        repeat = 1
        while True:
            match = self._search(at, emitted, last, end, repeat)
            if match is None:
                break
            at, before, length, following = match
            if length == 0:
                length = self.length(at + 4, before + 4, end) + 4
            elif length == _LONGEST:
                length += self.length(at + length, before + length, end)
            at, before, length = self._by_end(at, before, length, last, end)
            while before > base and at > emitted and data[before - 1] == data[at - 1]:
                at, before, length = at - 1, before - 1, length + 1
            tokens += data[emitted:at]
            tokens += _match(length, at - before)
            repeat = at - before
            at += length
            emitted = at
            if following >= at:
                at = following + 1
            if at >= last:
                for i in range(following + 1, end - 8, 2):
                    word = self.word(i)
                    short[_short_hash(word)] = i
                    self.remember(_long_hash(word), i)
                break
            for i in range(following + 1, at - 1, 2):
                word = self.word(i)
                short[_short_hash(word)] = i
                self.remember(_long_hash(word), i)
                self.remember(_long_hash(word >> 8), i + 1)
        if tokens and emitted < end:
            tokens += data[emitted:end]
        return tokens

    def _search(self, at: int, emitted: int, last: int, end: int, repeat: int) -> tuple[int, int, int, int] | None:
        """Find the next match at or after a position. Returns the position of the match, the earlier position with the
        same bytes, the length of the match (0: not computed, at least four bytes), and the next position to try.
        Returns None if there is no further match."""
        short, long, data = self.short, self.long, self.data
        empty = (_NONE, _NONE)
        word = self.word(at)
        following = at
        while True:
            short_hash, long_hash = _short_hash(word), _long_hash(word)
            at = following
            following = at + 1 + (at - emitted >> 7)
            if following > last:
                return None
            candidate, (newer, older) = short.get(short_hash, _NONE), long.get(long_hash, empty)
            next_word = self.word(following)
            short[short_hash] = at
            long[long_hash] = (at, newer)
            short_hash, long_hash = _short_hash(next_word), _long_hash(next_word)
            four = data[at : at + 4]
            if at - newer < _WINDOW:
                if data[newer : newer + 4] == four:
                    short[short_hash] = following
                    self.remember(long_hash, following)
                    if at - older < _WINDOW and data[older : older + 4] == four:
                        limit = min(at + _LONGEST, end)
                        length = self.length(at + 4, newer + 4, limit) + 4
                        other = self.length(at + 4, older + 4, limit) + 4
                        return (at, older, other, following) if other > length else (at, newer, length, following)
                    return at, newer, 0, following
                if at - older < _WINDOW and data[older : older + 4] == four:
                    short[short_hash] = following
                    self.remember(long_hash, following)
                    return at, older, 0, following
            if at - candidate < _WINDOW and data[candidate : candidate + 4] == four:
                length = self.length(at + 4, candidate + 4, min(at + _LONGEST, end)) + 4
                newer, older = long.get(long_hash, empty)
                short[short_hash] = following
                self.remember(long_hash, following)
                again = at - repeat + 1
                if data[again : again + 4] == data[at + 1 : at + 5]:
                    other = self.length(at + 5, again + 4, min(at + 1 + _LONGEST, end)) + 4
                    if other > length:
                        return at + 1, again, other, following
                best = (at, candidate, length)
                if following - newer < _WINDOW:
                    four = data[following : following + 4]
                    for before in (newer, older):
                        if following - before < _WINDOW and data[before : before + 4] == four:
                            other = self.length(following + 4, before + 4, min(following + _LONGEST, end)) + 4
                            if other > best[2]:
                                best = (following, before, other)
                return *best, following
            word = next_word

    def _by_end(self, at: int, before: int, length: int, last: int, end: int) -> tuple[int, int, int]:
        """The given match, or a longer one that begins two bytes later. The longer one is found by looking up the bytes
        after the given match."""
        behind = at + length
        if behind >= last:
            return at, before, length
        second = at + 2
        newer, older = self.long.get(_long_hash(self.word(behind)), (_NONE, _NONE))
        if second - (newer - length + 2) >= _WINDOW:
            return at, before, length
        for entry in (newer, older):
            other = entry - length + 2  # the earlier position for the second match
            if 0 < second - other < _WINDOW and other >= self.base:
                longer = self.length(second, other, end)
                if longer > length:
                    at, before, length = second, other, longer
        return at, before, length


def _short_hash(word: int) -> int:
    return ((word & 0xFFFFFFFF) * 2654435761 & 0xFFFFFFFF) >> 17


def _long_hash(word: int) -> int:
    return ((word << 8 & _MASK) * 58295818150454627 & _MASK) >> 49


def _match(length: int, distance: int) -> Iterator[int]:
    """The tokens of a match of at least three bytes. A long match is split into parts of at least three bytes."""
    while length > 0:
        part = length
        if part > _LONGEST:
            part = _LONGEST if part > _LONGEST + 3 else _LONGEST - 3
        length -= part
        yield part << 16 | distance


# ---------------------------------------------------------------- blocks


class _BlockWriter:
    """Writes blocks. The end of a block is not written immediately, because the next block may continue it with the
    same codes."""

    def __init__(self) -> None:
        self.out = Bits()
        self.own: tuple[Codes, Codes] = ([], [])
        self.header = 0
        """the number of bits of the open block's header; 0 if none is open"""
        self.only_literals = False

    def close_block(self) -> None:
        if self.header:
            self.out.put(*self.own[0][_END])
            self.header = 0

    def store(self, source: bytes) -> None:
        self.close_block()
        self.out.put(0, 3)
        self.out.fill()
        self.out.put(len(source) | (len(source) ^ 0xFFFF) << 16, 32)
        self.out.fill()
        self.out.bytes += source

    def end(self) -> None:
        """Write the final block, which is empty."""
        self.close_block()
        self.out.put(3, 10)
        self.out.fill()

    def literals(self, source: bytes, is_last: bool) -> None:
        """Write a block without matches: with its own codes, with those of the open block, or uncompressed."""
        counts = [source.count(byte) for byte in range(256)] + [0] * 30
        stored = (len(source) + 5) * 8
        if len(source) > 1024:
            average, most, spread = len(source) / 256, len(source) * 2, 0.0
            for count in counts[:256]:
                spread += (count - average) ** 2
                if spread >= most:
                    break
            if spread < most:
                self.store(source)
                return
        counts[_END] = 1
        codes = common.code_table(counts, 15)
        size = common.coded_size(codes, counts) + (self.header or _GUESSED_HEADER)
        size += size >> _NEW_CODES
        if stored <= size:
            self.store(source)
            return
        if self.header and size < _reused_size(self.own[0], counts[:256]):
            self.close_block()
        if not self.header:
            self.own = (codes, common.code_table([1, *[0] * 29], 15))
            self._begin(257, 1)
            self.only_literals = True
        for byte in source:
            self.out.put(*self.own[0][byte])
        if is_last:
            self.close_block()
            self.only_literals = False

    def _begin(self, literals: int, offsets: int) -> None:
        header = common.header_of(self.own, literals, offsets)
        for value, count in header.bits:
            self.out.put(value, count)
        self.header = header.size

    def block(self, tokens: list[int], source: bytes, is_last: bool) -> None:
        """Write a block in its shortest form: with the codes of the open block, its own codes, the fixed codes, or
        uncompressed."""
        counts, offsets = common.count_codes(tokens)
        if self.only_literals or not _fit(self.own, counts, offsets):
            self.close_block()
            self.only_literals = False
        number = len(tokens) + is_last
        offset_count = max((at for at, n in enumerate(offsets) if n), default=-1) + 1
        extra = common.extra_bits(counts, offsets)
        estimate = _estimated_bits(counts, offsets, number) if self.header else 0
        if not offset_count:
            offsets[0] = offset_count = 1  # a table of codes must not be empty
        stored, fixed = (len(source) + 5) * 8, common.fixed_codes()
        fixed_size = 3 + common.coded_size(fixed[0], counts) + common.coded_size(fixed[1], offsets) + extra
        if self.header:
            new = self.header + estimate
            new += self.own[0][_END][1] + (new >> _NEW_CODES)
            size = common.coded_size(self.own[0], counts) + common.coded_size(self.own[1], offsets) + extra
            if new < size:
                self.close_block()
                size = new
            if number < _SMALL and fixed_size + 7 < size:
                self._write_fixed(tokens, source if stored <= size else None)
                return
            if stored <= size:
                self.store(source)
                return
        if not self.header:
            self.own = (common.code_table(counts, 15), common.code_table(offsets, 15))
            literal_count = max(at for at, n in enumerate(counts) if n) + 1
            header = common.header_of(self.own, literal_count, offset_count)
            size = (
                header.size + common.coded_size(self.own[0], counts) + common.coded_size(self.own[1], offsets) + extra
            )
            if number < _SMALL and fixed_size <= size:
                self._write_fixed(tokens, source if stored <= fixed_size else None)
                return
            if stored <= size:
                self.store(source)
                return
            self._begin(literal_count, offset_count)
            self.only_literals = False
        common.write_tokens(self.out, tokens, *self.own)
        if is_last:
            self.close_block()

    def _write_fixed(self, tokens: list[int], source: bytes | None) -> None:
        """Write a block with the fixed codes, or uncompressed if `source` is set."""
        if source is not None:
            self.store(source)
            return
        self.close_block()
        fixed = common.fixed_codes()
        self.out.put(2, 3)
        common.write_tokens(self.out, tokens, *fixed)
        self.out.put(*fixed[0][_END])


def _fit(own: tuple[Codes, Codes], literals: list[int], offsets: list[int]) -> bool:
    """Whether the codes cover all symbols of the block."""
    pairs = ((own[0], literals), (own[1], offsets))
    return all(not n or code[1] for codes, counts in pairs for code, n in zip(codes, counts, strict=False))


def _reused_size(codes: Codes, counts: list[int]) -> int:
    used = [(n, codes[symbol][1]) for symbol, n in enumerate(counts) if n]
    return sum(n * bits for n, bits in used) if all(bits for _, bits in used) else _IMPOSSIBLE


# ---------------------------------------------------------------- estimates, in 32-bit numbers


def _single(value: float) -> float:
    rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return rounded


_A, _B, _C = _single(-0.34484843), _single(2.02466578), _single(0.67487759)


def _estimated_bits(literals: list[int], offsets: list[int], number: int) -> int:
    """The approximate size of a block in bits, if optimal codes are used."""
    total, inverse = 0.0, _single(1.0 / number)

    def add(counts: list[int]) -> None:
        nonlocal total
        for n in counts:
            if n:
                bits = min(15.0, max(1.0, -_log2(_single(n * inverse))))
                total = _single(total + _single(bits * n))

    add(literals[:_END])
    total = _single(total + 15.0)
    add(literals[_END + 1 :])
    matches = sum(literals[_END + 1 :])
    if matches:
        inverse = _single(1.0 / matches)
        add(offsets)
    return int(total) + common.extra_bits(literals, offsets)


def _log2(value: float) -> float:
    """The binary logarithm, approximated by a quadratic polynomial in 32-bit arithmetic."""
    bits: int = _INT.unpack(_FLOAT.pack(value))[0]
    whole = float((bits >> 23 & 255) - 128)
    part: float = _FLOAT.unpack(_INT.pack((bits & -0x7F800001) + (127 << 23)))[0]
    return _single(whole + _single(_single(_single(_single(_A * part) + _B) * part) - _C))
