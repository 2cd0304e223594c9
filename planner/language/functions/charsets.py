"""Character encodings by the names that IANA registers for them.

Those of one byte are exact. Of the East Asian ones (of several bytes) Python's and the WHATWG's tables differ for some
rare characters.
"""

from __future__ import annotations

import codecs
from functools import cache

# A codec of Python: the registered names (in lower case) that it serves.
_CODECS = """
ascii: ansi_x3.4-1968 ansi_x3.4-1986 cp367 csascii ibm367 iso-ir-6 iso646-us iso_646.irv:1991 us us-ascii
big5hkscs: big5 csbig5
cp037: cp037 csibm037 ebcdic-cp-ca ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm037
cp1047: csibm1047 ibm-1047 ibm1047
cp1140: ccsid01140 cp01140 csibm01140 ebcdic-us-37+euro ibm01140
cp1250: cswindows1250 windows-1250
cp1251: cswindows1251 windows-1251
cp1252: cswindows1252 windows-1252
cp1253: cswindows1253 windows-1253
cp1254: cswindows1254 windows-1254
cp1255: cswindows1255 windows-1255
cp1256: cswindows1256 windows-1256
cp1257: cswindows1257 windows-1257
cp1258: cswindows1258 windows-1258
cp437: 437 cp437 cspc8codepage437 ibm437
cp850: 850 cp850 cspc850multilingual ibm850
cp852: 852 cp852 cspcp852 ibm852
cp855: 855 cp855 csibm855 ibm855
cp858: ccsid00858 cp00858 csibm00858 ibm00858 pc-multilingual-850+euro
cp860: 860 cp860 csibm860 ibm860
cp862: 862 cp862 cspc862latinhebrew ibm862
cp863: 863 cp863 csibm863 ibm863
cp865: 865 cp865 csibm865 ibm865
cp866: 866 cp866 csibm866 ibm866
cp874: cswindows874 windows-874
cp932: csshiftjis ms_kanji shift_jis
cp949: cseuckr euc-kr
euc_jp: cseucpkdfmtjapanese euc-jp extended_unix_code_packed_format_for_japanese
gb18030: csgb18030 gb18030
gbk: cp936 csgbk gbk ms936 windows-936
hz: hz-gb-2312
iso2022_jp: csiso2022jp iso-2022-jp
iso8859_1: cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso_8859-1 iso_8859-1:1987 l1 latin1
iso8859_10: csisolatin6 iso-8859-10 iso-ir-157 iso_8859-10:1992 l6 latin6
iso8859_13: csiso885913 iso-8859-13
iso8859_14: csiso885914 iso-8859-14 iso-celtic iso-ir-199 iso_8859-14 iso_8859-14:1998 l8 latin8
iso8859_15: csiso885915 iso-8859-15 iso_8859-15 latin-9
iso8859_16: csiso885916 iso-8859-16 iso-ir-226 iso_8859-16 iso_8859-16:2001 l10 latin10
iso8859_2: csisolatin2 iso-8859-2 iso-ir-101 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859_3: csisolatin3 iso-8859-3 iso-ir-109 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859_4: csisolatin4 iso-8859-4 iso-ir-110 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859_5: csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso_8859-5 iso_8859-5:1988
iso8859_6: csiso88596e iso-8859-6-e iso_8859-6-e csiso88596i iso-8859-6-i iso_8859-6-i arabic asmo-708
    csisolatinarabic ecma-114 iso-8859-6 iso-ir-127 iso_8859-6 iso_8859-6:1987
iso8859_7: csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso_8859-7 iso_8859-7:1987
iso8859_8: csiso88598e iso-8859-8-e iso_8859-8-e csiso88598i iso-8859-8-i iso_8859-8-i csisolatinhebrew hebrew
    iso-8859-8 iso-ir-138 iso_8859-8 iso_8859-8:1988
iso8859_9: csisolatin5 iso-8859-9 iso-ir-148 iso_8859-9 iso_8859-9:1989 l5 latin5
koi8_r: cskoi8r koi8-r
koi8_u: cskoi8u koi8-u
mac_roman: csmacintosh mac macintosh
utf-16: csutf16 utf-16
utf_16_be: csutf16be utf-16be
utf_16_le: csutf16le utf-16le
utf_8: csutf8 utf-8
"""
_CHANGED: dict[str, tuple[str, dict[int, str]]] = {
    "cp1047": ("cp037", {95: "^", 173: "[", 176: "\u00ac", 186: "\u00dd", 187: "\u00a8", 189: "]"}),
    "koi8_u": ("koi8_u", {174: "\u045e", 190: "\u040e"}),
    "cp1255": ("cp1255", {202: "\u05ba"}),
}
_WITH_CONTROLS = ("iso8859_1", "iso8859_9")  # the others of ISO 8859 leave 0x80 to 0x9f undefined
_PRIVATE = range(0xE000, 0xF900)


class CharsetError(LookupError):
    """No encoding has this name."""


@cache
def _names() -> dict[str, str]:
    codecs: dict[str, str] = {}
    codec = ""
    for word in _CODECS.split():
        if word.endswith(":"):
            codec = word[:-1]
        else:
            codecs[word] = codec
    return codecs


def find(name: str) -> str:
    """The codec for a registered name, whatever its case. Raises CharsetError."""
    codec = _names().get(name.strip().lower())
    if codec is None:
        raise CharsetError(name)
    return codec


@cache
def _table(codec: str) -> str:
    base, changes = _CHANGED[codec]
    plain = [bytes([b]).decode(base, "replace") for b in range(256)]
    return "".join(changes.get(b, character) for b, character in enumerate(plain)).replace("\ufffd", "\ufffe")


def encode(string: str, name: str) -> bytes:
    """A text in an encoding. Raises CharsetError, or UnicodeError for characters that it has not."""
    codec = find(name)
    if codec == "utf-16":
        return codecs.BOM_UTF16_BE + string.encode("utf_16_be")
    if codec in _CHANGED:
        return codecs.charmap_encode(string, "strict", codecs.charmap_build(_table(codec)))[0]
    data = string.encode(codec)
    if codec not in ("utf_8", "utf_16_le", "utf_16_be") and decode(data, name) != string:
        raise UnicodeError("ambiguous")
    return data


def decode(data: bytes, name: str) -> str:
    """The text that bytes in an encoding are. Raises CharsetError, or UnicodeError when they are none."""
    codec = find(name)
    if codec == "utf-16":
        little = data.startswith(codecs.BOM_UTF16_LE)
        marked = little or data.startswith(codecs.BOM_UTF16_BE)
        string = data[2 if marked else 0 :].decode("utf_16_le" if little else "utf_16_be")
    elif codec in _CHANGED:
        string = codecs.charmap_decode(data, "strict", _table(codec))[0]
    else:
        string = data.decode(codec)
    controls = codec.startswith("iso8859") and codec not in _WITH_CONTROLS
    if "\ufffd" in string or (controls and any("\x80" <= c <= "\x9f" for c in string)):
        raise UnicodeError("undefined")
    if codec == "cp932" and any(ord(c) in _PRIVATE for c in string):
        raise UnicodeError("undefined")
    return string
