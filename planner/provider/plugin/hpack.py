"""Headers of HTTP/2 as bytes and back, as far as calls to a plugin need them (RFC 7541).

What is sent never enters the table that both sides may share, and the peer is told that its own has no room, so no
state is kept between blocks of headers.
"""

from __future__ import annotations

from functools import cache

# Of the table that everybody knows, the entries that matter in answers.
_KNOWN = dict(zip(range(8, 15), ("200", "204", "206", "304", "400", "404", "500"), strict=True))
_STATUS = ":status"
_KNOWN_ENTRIES = 61

# Lengths in bits of the codes of the 256 bytes and of the end (a: 5 ... z: 30). The codes of one length follow each
# other in the order of the bytes, and each length goes on where the shorter one ended (RFC 7541, appendix B).
_LENGTHS = (
    "isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibcccccccccccccccccccc"
    "ccdcdioijbkabababbbaccbbbabcbaabccccckgjixprpprrrsrssssststtrstssssqrsrsstrqprrssqsrrt"
    "qrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwwwptpqrqqsrruuttvsvwvvwwwwwxwwwwwvz"
)
_END = 256


def encode(headers: tuple[tuple[str, str], ...]) -> bytes:
    """The bytes of headers, in their order."""
    out = bytearray()
    for pair in headers:
        out.append(0)  # a literal that nobody should keep, with a new name
        for text in pair:
            data = text.encode("ascii")
            out += _length(len(data)) + data
    return bytes(out)


def _length(number: int) -> bytes:
    if number < 127:
        return bytes((number,))
    out = bytearray((127,))
    number -= 127
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode(data: bytes) -> dict[str, str]:
    """The headers in a block of them; those with names from the known table are left out but for the status. Raises
    ValueError when the bytes are no such block."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            first = data[at]
            if first & 0xE0 == 0x20:  # the peer's table is resized; to nothing, as that is what it was told
                size, at = _number(data, at, 5)
                if size:
                    raise ValueError("a table of headers that was not allowed")
                continue
            index, at = _number(data, at, 7 if first & 0x80 else 6 if first & 0x40 else 4)
            if index > _KNOWN_ENTRIES or (first & 0x80 and not index):
                raise ValueError("a header from a table that was not allowed")
            if first & 0x80:
                if index in _KNOWN:
                    found[_STATUS] = _KNOWN[index]
                continue
            if index:
                name = _STATUS if index in _KNOWN else ""
            else:
                name, at = _text(data, at)
            value, at = _text(data, at)
            if name:
                found[name] = value
    except IndexError:
        raise ValueError("headers that end too early") from None
    return found


def _number(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number whose first part stands in the low bits of a byte, and where it ends."""
    most = (1 << bits) - 1
    number = data[at] & most
    at += 1
    if number == most:
        shift = 0
        while True:
            number += (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
            if shift > 28:
                raise ValueError("a header of impossible length")
    return number, at


def _text(data: bytes, at: int) -> tuple[str, int]:
    is_packed = data[at] & 0x80
    size, at = _number(data, at, 7)
    if at + size > len(data):
        raise IndexError
    text = data[at : at + size]
    return (unpack(text) if is_packed else text).decode("latin-1"), at + size


def unpack(data: bytes) -> bytes:
    """Text from its Huffman code. Raises ValueError."""
    codes = _codes()
    out = bytearray()
    code = length = 0
    for byte in data:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            length += 1
            symbol = codes.get((length, code))
            if symbol is not None:
                if symbol == _END:
                    raise ValueError("a header with an end in its middle")
                out.append(symbol)
                code = length = 0
    if length > 7 or code != (1 << length) - 1:
        raise ValueError("a header that is padded wrongly")
    return bytes(out)


@cache
def _codes() -> dict[tuple[int, int], int]:
    """Length and code -> the byte."""
    lengths = [ord(letter) - ord("a") + 5 for letter in _LENGTHS]
    found: dict[tuple[int, int], int] = {}
    code = before = 0
    for symbol in sorted(range(_END + 1), key=lambda s: (lengths[s], s)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        found[before, code] = symbol
        code += 1
    return found
