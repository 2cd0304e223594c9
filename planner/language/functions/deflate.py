"""Compresses data to exactly the same bytes as OpenTofu: DEFLATE (RFC 1951) as written by Go's standard library at its
default level, in gzip format (RFC 1952).

Other compressors would produce valid data, but results of `base64gzip` are used in attributes such as
`user_data_base64`, which would change if a single byte differed. So every choice that DEFLATE leaves to the compressor
is made as in Go: the hash of four bytes, the length of searches in chains of equal hashes, lazy matching (a match is
deferred if a better match begins at the next byte), the ends of blocks, and the limit of code lengths (Katajainen,
Moffat and Turpin: A fast and space-economical algorithm for length-limited coding, 1995)."""

from __future__ import annotations

import zlib
from functools import cache
from typing import NamedTuple

_WINDOW = 1 << 15
_LEAST, _MOST = 4, 258  # the minimum and maximum length of a match, in bytes
_AHEAD = _LEAST + _MOST
_LAZY, _NICE, _CHAIN, _NEAR = 16, 128, 128, 4096
_BLOCK_TOKENS = 1 << 14
_STORED = 65_535
_HASH, _HASH_BITS = 0x1E35A7BD, 17
_END = 256
_FIRST_LENGTH = 257
_LENGTH_EXTRA = (*(0,) * 8, *(n for n in range(1, 6) for _ in range(4)), 0)
_LENGTH_BASE = (*range(8), *(base << n for n in range(1, 6) for base in (4, 5, 6, 7)), 255)
_OFFSET_EXTRA = (0, 0, *(n for n in range(14) for _ in range(2)))
_OFFSET_BASE = (0, 1, *(base << n for n in range(14) for base in (2, 3)))
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
_INFINITE = (1 << 31) - 1

Codes = list[tuple[int, int]]  # symbol -> (bits of its code in the order of writing, number of bits)


def gzip(data: bytes) -> bytes:
    """The output of Go's gzip writer after one write with all data, a flush and a close."""
    return in_frame(data, deflate(data))


def in_frame(data: bytes, compressed: bytes) -> bytes:
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no name, no time, no flags, an unknown system
    return head + compressed + zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")


def deflate(data: bytes) -> bytes:
    """The compressed data of `gzip`, without its header and trailer."""
    out = Bits()
    for block in _blocks(data):
        _write_block(out, block)
    for is_last in (0, 1):  # flushing and closing each write an empty stored block
        out.put(is_last, 3)
        out.fill()
        out.put(0xFFFF0000, 32)
    out.fill()
    return bytes(out.bytes)


class Bits:
    """A sequence of bits as bytes, lowest bit first."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._value = self._count = 0

    def put(self, value: int, count: int) -> None:
        self._value |= value << self._count
        self._count += count
        if self._count >= 4096:
            whole = self._count >> 3
            self.bytes += (self._value & (1 << (whole << 3)) - 1).to_bytes(whole, "little")
            self._value >>= whole << 3
            self._count &= 7

    def fill(self) -> None:
        """Complete the current byte with zero bits."""
        self.bytes += self._value.to_bytes((self._count + 7) >> 3, "little")
        self._value = self._count = 0


# ---------------------------------------------------------------- matches


class _Block(NamedTuple):
    """Tokens: literals (0 to 255) and matches (`length << 16 | distance`, always above 255). `source`: the data that
    the tokens represent, if the compressor can still store it uncompressed, otherwise None."""

    tokens: list[int]
    source: bytes | None


def _blocks(data: bytes) -> list[_Block]:
    size = len(data)
    blocks: list[_Block] = []
    tokens: list[int] = []
    heads: dict[int, int] = {}
    before = [-1] * _WINDOW  # position modulo the window -> the previous position with the same hash
    base = began = 0  # where the compressor's window and the current block begin
    known = min(2 * _WINDOW, size)
    last_insert = size - _LEAST
    length, offset = _LEAST - 1, 0
    pending = False  # whether a literal is deferred because a better match may begin at the next byte

    def end_block(at: int) -> None:
        nonlocal tokens, began
        blocks.append(_Block(tokens, data[began:at] if began >= base else None))
        tokens, began = [], at

    at = 0
    while at < size:
        if known < size and known - at < _AHEAD:
            base += _WINDOW
            known = min(known + _WINDOW, size)
            continue
        head = -1
        if at <= last_insert:
            head = _insert(data, at, heads, before)
        old_length, old_offset = length, offset
        length, offset = _LEAST - 1, 0
        if head >= max(at - _WINDOW, base) and old_length < _LAZY and size - at > old_length:
            length, offset = _match(data, at, head, base, before, min(_MOST, known - at))
        if old_length >= _LEAST and length <= old_length:
            tokens.append(old_length << 16 | old_offset)
            end = at + old_length - 1
            for inside in range(at + 1, min(end, last_insert + 1)):
                _insert(data, inside, heads, before)
            at = end
            pending, length = False, _LEAST - 1
            if len(tokens) == _BLOCK_TOKENS:
                end_block(at)
            continue
        if pending:
            tokens.append(data[at - 1])
            if len(tokens) == _BLOCK_TOKENS:
                end_block(at)
        pending = True
        at += 1
    if pending:
        tokens.append(data[at - 1])
    if tokens:
        end_block(at)
    return blocks


def _insert(data: bytes, at: int, heads: dict[int, int], before: list[int]) -> int:
    """Record a position under the hash of the four bytes at this position. Returns the previous position with the same
    hash; -1 if there is none."""
    hash = (int.from_bytes(data[at : at + 4], "big") * _HASH & 0xFFFFFFFF) >> 32 - _HASH_BITS
    head = before[at & _WINDOW - 1] = heads.get(hash, -1)
    heads[hash] = at
    return head


def _match(data: bytes, at: int, head: int, base: int, before: list[int], most: int) -> tuple[int, int]:
    """Length and distance of the best match of more than three bytes among earlier positions with the same hash; (3, 0)
    if there is none."""
    length, offset = _LEAST - 1, 0
    nice = min(_NICE, most)
    lowest = at - _WINDOW
    bottom = max(lowest, base)
    wanted = data[at + length]
    here = int.from_bytes(data[at : at + most], "little")
    i = head
    for _ in range(_CHAIN):
        if data[i + length] == wanted:
            differs = here ^ int.from_bytes(data[i : i + most], "little")
            same = (differs & -differs).bit_length() - 1 >> 3 if differs else most
            if same > length and (same > _LEAST or at - i <= _NEAR):
                length, offset = same, at - i
                if same >= nice:
                    break
                wanted = data[at + same]
        if i == lowest:
            break
        i = before[i & _WINDOW - 1]
        if i < bottom:
            break
    return length, offset


# ---------------------------------------------------------------- codes


def _write_block(out: Bits, block: _Block) -> None:
    """Write a block in its shortest form: with fixed codes, with its own codes, or uncompressed."""
    literals, offsets = count_codes(block.tokens)
    literal_count = max(i for i, n in enumerate(literals) if n) + 1
    offset_count = max((i for i, n in enumerate(offsets) if n), default=-1) + 1
    extra = extra_bits(literals, offsets)
    if not offset_count:
        offsets[0] = offset_count = 1  # a table of codes must not be empty
    fixed = fixed_codes()
    own = code_table(literals, 15), code_table(offsets, 15)
    header = header_of(own, literal_count, offset_count)
    fixed_size = 3 + coded_size(fixed[0], literals) + coded_size(fixed[1], offsets) + extra
    own_size = header.size + coded_size(own[0], literals) + coded_size(own[1], offsets) + extra
    source = block.source
    if source is not None and len(source) <= _STORED and (len(source) + 5) * 8 < min(fixed_size, own_size):
        out.put(0, 3)
        out.fill()
        out.put(len(source) | (len(source) ^ 0xFFFF) << 16, 32)
        out.fill()
        out.bytes += source
        return
    if own_size < fixed_size:
        for value, count in header.bits:
            out.put(value, count)
    else:
        out.put(2, 3)
    chosen = own if own_size < fixed_size else fixed
    write_tokens(out, block.tokens, *chosen)
    out.put(*chosen[0][_END])


def count_codes(tokens: list[int]) -> tuple[list[int], list[int]]:
    """The frequencies of the symbols in a block, as two lists, because there are two codes: one for literals, lengths
    and the end of the block (which occurs once), and one for distances."""
    literals, offsets = [0] * 286, [0] * 30
    for token in tokens:
        if token < 256:
            literals[token] += 1
        else:
            literals[_FIRST_LENGTH + _length_code(token >> 16)] += 1
            offsets[_offset_code(token & 0xFFFF)] += 1
    literals[_END] = 1
    return literals, offsets


def extra_bits(literals: list[int], offsets: list[int]) -> int:
    """The number of extra bits that follow the codes of lengths and distances."""
    extra = sum(n * bits for n, bits in zip(literals[_FIRST_LENGTH:], _LENGTH_EXTRA, strict=True))
    return extra + sum(n * bits for n, bits in zip(offsets, _OFFSET_EXTRA, strict=True))


def write_tokens(out: Bits, tokens: list[int], literals: Codes, offsets: Codes) -> None:
    for token in tokens:
        if token < 256:
            out.put(*literals[token])
            continue
        length, offset = (token >> 16) - 3, (token & 0xFFFF) - 1
        code = _length_code(token >> 16)
        out.put(*literals[_FIRST_LENGTH + code])
        out.put(length - _LENGTH_BASE[code], _LENGTH_EXTRA[code])
        code = _offset_code(offset + 1)
        out.put(*offsets[code])
        out.put(offset - _OFFSET_BASE[code], _OFFSET_EXTRA[code])


@cache
def _length_code(length: int) -> int:
    return max(code for code, base in enumerate(_LENGTH_BASE) if base <= length - 3)


def _offset_code(offset: int) -> int:
    offset -= 1
    if offset < 4:
        return offset
    bits = offset.bit_length()
    return 2 * bits - 2 + (offset >> bits - 2 & 1)


def coded_size(codes: Codes, counts: list[int]) -> int:
    return sum(n * codes[symbol][1] for symbol, n in enumerate(counts) if n)


class _Header(NamedTuple):
    bits: list[tuple[int, int]]
    size: int


def header_of(own: tuple[Codes, Codes], literal_count: int, offset_count: int) -> _Header:
    """The header that declares the codes of a block (RFC 1951, 3.2.7). It contains the lengths of all codes, with runs
    of equal lengths combined, and is encoded with a third code."""
    lengths = [length for codes, n in zip(own, (literal_count, offset_count), strict=True) for _, length in codes[:n]]
    runs: list[tuple[int, int, int]] = []  # symbol, value and number of the extra bits
    at = 0
    while at < len(lengths):
        length = lengths[at]
        count = next((i for i in range(at, len(lengths)) if lengths[i] != length), len(lengths)) - at
        at += count
        if length:
            runs.append((length, 0, 0))
            count -= 1
            while count >= 3:
                part = min(count, 6)
                runs.append((16, part - 3, 2))
                count -= part
        else:
            while count >= 11:
                part = min(count, 138)
                runs.append((18, part - 11, 7))
                count -= part
            if count >= 3:
                runs.append((17, count - 3, 3))
                count = 0
        runs += [(length, 0, 0)] * count
    counts = [0] * 19
    for symbol, _, _ in runs:
        counts[symbol] += 1
    codes = code_table(counts, 7)
    length_count = max(4, max(i for i, symbol in enumerate(_ORDER) if counts[symbol]) + 1)
    bits = [(4, 3), (literal_count - 257, 5), (offset_count - 1, 5), (length_count - 4, 4)]
    bits += [(codes[symbol][1], 3) for symbol in _ORDER[:length_count]]
    for symbol, value, number in runs:
        bits += [codes[symbol], (value, number)]
    return _Header(bits, sum(number for _, number in bits))


def code_table(counts: list[int], longest: int) -> Codes:
    """Codes of at most `longest` bits for symbols with these frequencies."""
    used = sorted((n, symbol) for symbol, n in enumerate(counts) if n)
    codes = [(0, 0)] * len(counts)
    if len(used) <= 2:
        for code, symbol in enumerate(sorted(symbol for _, symbol in used)):
            codes[symbol] = (code, 1)
        return codes
    code, end = 0, len(used)
    for length, number in enumerate(_length_counts([n for n, _ in used], longest), 1):
        code <<= 1
        for symbol in sorted(symbol for _, symbol in used[end - number : end]):
            codes[symbol] = (_reverse_bits(code, length), length)
            code += 1
        end -= number
    return codes


def _length_counts(counts: list[int], longest: int) -> list[int]:
    """The number of codes with 1, 2, ... bits. `counts` must be at least three frequencies in increasing order.

    The algorithm (package-merge) has a list for each number of bits, whose members are single symbols and pairs of
    members of the next lower list. Members are computed when a higher list needs them, beginning with the highest list,
    and only the last two members of each list are stored. `leaves[i][j]` is the number of single symbols in list j up
    to the last member of list i.
    """
    number = len(counts)
    counts = [*counts, _INFINITE]
    top = min(longest, number - 1)
    last = [counts[1]] * (top + 2)
    next_leaf = [counts[2]] * (top + 2)
    next_pair = [_INFINITE, _INFINITE, *[counts[0] + counts[1]] * top]
    needed = [0] * (top + 2)
    needed[top] = 2 * number - 4
    leaves = [[0] * (top + 1) for _ in range(top + 1)]
    for level in range(1, top + 1):
        leaves[level][level] = 2
    level = top
    while True:
        if next_pair[level] == next_leaf[level] == _INFINITE:
            needed[level] = 0  # this list has no more members, so the next list gets no more pairs
            next_pair[level + 1] = _INFINITE
            level += 1
            continue
        previous = last[level]
        if next_leaf[level] < next_pair[level]:
            last[level] = next_leaf[level]
            leaves[level][level] += 1
            next_leaf[level] = counts[leaves[level][level]]
        else:
            last[level] = next_pair[level]
            leaves[level][:level] = leaves[level - 1][:level]
            needed[level - 1] = 2
        needed[level] -= 1
        if needed[level] == 0:
            if level == top:
                break
            next_pair[level + 1] = previous + last[level]
            level += 1
        else:
            while needed[level - 1] > 0:
                level -= 1
    level_counts = leaves[top]
    return [level_counts[level] - level_counts[level - 1] for level in range(top, 0, -1)]


@cache
def fixed_codes() -> tuple[Codes, Codes]:
    """The fixed codes (RFC 1951, 3.2.6), which need no header."""
    literals: Codes = []
    for first, count, length in ((0x30, 144, 8), (0x190, 112, 9), (0, 24, 7), (0xC0, 6, 8)):
        literals += [(_reverse_bits(first + i, length), length) for i in range(count)]
    return literals, [(_reverse_bits(i, 5), 5) for i in range(30)]


def _reverse_bits(code: int, length: int) -> int:
    return int(f"{code:0{length}b}"[::-1], 2)
