"""Functions for network addresses in CIDR notation (RFC 4632, RFC 4291).

As in OpenTofu, octets may have leading zeros, and an IPv4-mapped IPv6 address is printed as an IPv4 address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from planner.foundation.values.numbers import whole_text
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType
from planner.foundation.values.value import List, Value
from planner.foundation.vocabulary.release import follows_next
from planner.language.functions.protocol import Function, FunctionError, Param, big_int, function, small_int

FUNCTIONS: list[Function] = []


class Network:
    """A block of addresses: its first address as a number, the length of its prefix, and the length of addresses (32 or
    128 bits)."""

    __slots__ = ("bits", "first", "prefix")

    def __init__(self, first: int, prefix: int, bits: int) -> None:
        self.bits = bits
        self.prefix = prefix
        self.first = first & self.mask

    @property
    def mask(self) -> int:
        return (1 << self.bits) - (1 << (self.bits - self.prefix))

    @property
    def last(self) -> int:
        return self.first | ((1 << (self.bits - self.prefix)) - 1)

    @property
    def is_ipv4(self) -> bool:
        return self.bits == 32 or self.first >> 32 == 0xFFFF

    def contains(self, address: int, bits: int) -> bool:
        """Whether the block contains an address. `bits`: the length of the address (32 or 128). An IPv4-mapped IPv6
        address equals its IPv4 address."""
        address, bits = unmap(address, bits)
        first, own_bits, mask = self.first, self.bits, self.mask
        if own_bits == 128 and first >> 32 == 0xFFFF:
            first, own_bits, mask = first & 0xFFFFFFFF, 32, mask & 0xFFFFFFFF
        return bits == own_bits and first & mask == address & mask

    def __str__(self) -> str:
        mapped = self.bits == 128 and self.is_ipv4
        return f"{address_text(self.first, self.bits)}/{self.prefix - 96 if mapped else self.prefix}"


def unmap(address: int, bits: int) -> tuple[int, int]:
    """Convert an IPv4-mapped IPv6 address to IPv4; other addresses are not changed. Returns the address and its length
    in bits."""
    return (address & 0xFFFFFFFF, 32) if bits == 128 and address >> 32 == 0xFFFF else (address, bits)


def address_text(address: int, bits: int) -> str:
    """An address as text, in the form of RFC 5952."""
    address, bits = unmap(address, bits)
    return str(IPv4Address(address)) if bits == 32 else str(IPv6Address(address))


def _number(digits: str, base: int, most: int) -> int | None:
    allowed = "0123456789abcdefABCDEF"[: 10 if base == 10 else 22]
    if not digits or any(d not in allowed for d in digits):
        return None
    digits = digits.lstrip("0") or "0"
    value = int(digits, base) if len(digits) < 20 else most + 1
    return value if value <= most else None


def parse_ipv4(written: str) -> int | None:
    """An IPv4 address as a 32-bit number; None if it is invalid."""
    octets = [_number(part, 10, 255) for part in written.split(".")]
    if len(octets) != 4:
        return None
    value = 0
    for octet in octets:
        if octet is None:
            return None
        value = value << 8 | octet
    return value


def parse_ipv6(written: str) -> int | None:
    """An IPv6 address as a 128-bit number; None if it is invalid. The last 32 bits may be written as an IPv4
    address."""
    head, gap, tail = written.partition("::")
    if gap and "::" in tail:
        return None
    before, after = _groups(head, not gap), _groups(tail, True)
    if before is None or after is None:
        return None
    missing = 8 - len(before) - len(after)
    if missing < 0 or (missing == 0) == bool(gap):
        return None
    value = 0
    for group in before + [0] * missing + after:
        value = value << 16 | group
    return value


def _groups(part: str, at_end: bool) -> list[int] | None:
    if not part:
        return []
    pieces = part.split(":")
    groups: list[int] = []
    if "." in pieces[-1]:
        ipv4 = parse_ipv4(pieces.pop()) if at_end else None
        if ipv4 is None:
            return None
        groups = [ipv4 >> 16, ipv4 & 0xFFFF]
    numbers = [_number(piece, 16, 0xFFFF) for piece in pieces]
    return None if None in numbers else [n for n in numbers if n is not None] + groups


def parse_network(written: str, argument: int | None = None) -> Network:
    """Parse a prefix in CIDR notation. Raises FunctionError."""
    address, slash, length = written.partition("/")
    bits, value = 32, parse_ipv4(address)
    if value is None:
        bits, value = 128, parse_ipv6(address)
    prefix = _number(length, 10, bits)
    if not slash or value is None or prefix is None:
        raise FunctionError(f'"{written}" is not a prefix in CIDR notation.', argument)
    return Network(value, prefix, bits)


_PREFIX = Param("prefix", STRING, "A prefix in CIDR notation, like 10.0.0.0/8.")


@function(
    Param("containing_prefix", STRING, "The prefix that may contain the other, in CIDR notation."),
    Param("contained_ip_or_prefix", STRING, "An address, or a prefix in CIDR notation."),
    result=BOOL,
    not_null=False,
    into=FUNCTIONS,
)
def cidrcontains(prefix: str, address: str) -> Value:
    """Returns whether a prefix contains an address, or all addresses of another prefix."""
    outer = parse_network(prefix)
    # the first . or : determines the notation
    mark = next((c for c in address if c in ".:"), "")
    value = parse_ipv4(address) if mark == "." else parse_ipv6(address) if mark == ":" else None
    if value is not None:
        bits = 32 if mark == "." else 128
        first = last = value
    else:
        inner = parse_network(address)
        first, last, bits = inner.first, inner.last, inner.bits
    if (unmap(first, bits)[1] == 32) != outer.is_ipv4:
        raise FunctionError(f"{prefix} and {address} are of different address families.")
    return outer.contains(first, bits) and outer.contains(last, bits)


@function(
    _PREFIX,
    Param("hostnum", NUMBER, "The number of the host; a negative one counts from the end."),
    result=STRING,
    into=FUNCTIONS,
)
def cidrhost(prefix: str, host: Value) -> Value:
    """Returns the address of the host with this number in a prefix."""
    number = big_int(host)
    network = parse_network(prefix)
    size = 1 << (network.bits - network.prefix)
    counted = abs(number) & 0xFFFFFFFFFFFFFFFF  # only the lowest 64 bits are checked, as in OpenTofu
    counted -= (counted >> 63) << 64
    if number < 0:
        counted = -number - 1
        number = size - 1 - counted
    if counted > size - 1:
        raise FunctionError(f"A prefix of {network.prefix} bits has no host number {whole_text(number)}.")
    return address_text(_insert(network, number, network.bits - (32 if network.is_ipv4 else 128)), network.bits)


def _insert(network: Network, number: int, shift: int) -> int:
    value = abs(network.first | number << shift)
    if value >> network.bits:
        raise FunctionError(f"The number {whole_text(number)} does not fit into the address.")
    return value


@function(_PREFIX, result=STRING, into=FUNCTIONS)
def cidrnetmask(prefix: str) -> Value:
    """Returns the netmask of an IPv4 prefix as an address."""
    network = parse_network(prefix)
    if not network.is_ipv4:
        raise FunctionError("An IPv6 prefix has no netmask.")
    return address_text(network.mask, network.bits)


@function(
    _PREFIX,
    Param("newbits", NUMBER, "The number of bits by which to extend the prefix."),
    Param("netnum", NUMBER, "The number of the subnet, which is stored in the additional bits."),
    result=STRING,
    into=FUNCTIONS,
)
def cidrsubnet(prefix: str, new_bits: Value, number: Value) -> Value:
    """Returns the subnet with this number in a prefix."""
    extension, subnet = small_int(new_bits), big_int(number)
    network = parse_network(prefix)
    length = network.prefix + extension
    if length > network.bits:
        raise FunctionError(f"A prefix of {network.prefix} bits cannot be extended by {extension}.")
    most = (1 << extension) - 1 if 0 <= extension < 64 else 2**64 - 1
    if abs(subnet) & 0xFFFFFFFFFFFFFFFF > most:
        raise FunctionError(f"{extension} additional bits are too few for subnet number {whole_text(subnet)}.")
    if length < 0:
        raise FunctionError(f"A prefix of {network.prefix} bits cannot be shortened by {-extension}.")
    result = Network(0, length, network.bits)
    result.first = _insert(network, subnet, network.bits - length)
    return str(result)


@function(
    _PREFIX,
    variadic=Param("newbits", NUMBER, "The number of bits by which each subnet extends the prefix."),
    result=ListType(STRING),
    into=FUNCTIONS,
)
def cidrsubnets(prefix: str, *new_bits: Value) -> Value:
    """Returns consecutive subnets of a prefix. Each further argument is the number of bits by which one subnet extends
    the prefix."""
    network = parse_network(prefix, 0)
    subnets: list[str] = []
    if new_bits:
        small_int(new_bits[0], 1)
    end = network.first  # the first address that is still free
    for index, bits in enumerate(new_bits, 1):
        extension = small_int(bits, index)
        most = 128 if follows_next() and network.bits == 128 else 32
        if not 1 <= extension <= most:
            raise FunctionError(f"A prefix can be extended by 1 to {most} bits.", index)
        length = network.prefix + extension
        if length > network.bits:
            raise FunctionError(f"A prefix of {length} bits is too long for the address.", index)
        size = 1 << (network.bits - length)
        first = -(-end // size) * size
        # OpenTofu rejects subnets that begin at address 0, and subnets of IPv4-mapped prefixes
        if first > network.last or first == 0 or (network.is_ipv4 and network.bits == 128):
            raise FunctionError(f"There is no room left for a subnet with a prefix of {length} bits.", index)
        subnets.append(f"{address_text(first, network.bits)}/{length}")
        end = first + size
    return List(STRING, tuple(subnets))
