"""The streams of a command, their widths and their colours."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

if TYPE_CHECKING:
    from planner.foundation.vocabulary.diagnostic import Diagnostic

DEFAULT_WIDTH = 78
"""the number of columns of a stream that is not a terminal"""
DEFAULT_HEIGHT = 24
"""the number of lines of a terminal of unknown height"""

_CODES = {
    "bold": "1",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "grey": "90",
}


class Paint:
    """Colours text, or returns it unchanged if disabled."""

    __slots__ = ("enabled",)

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, *styles: str) -> str:
        """The text in these styles: bold, underline, red, green, yellow, cyan, grey."""
        if not self.enabled or not text:
            return text
        return f"\x1b[{';'.join(_CODES[s] for s in styles)}m{text}\x1b[0m"


class DiagnosticSink(Protocol):
    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None: ...


class Terminal:
    """A command's three streams. Colours are used only on a terminal, unless NO_COLOR, TERM=dumb or -no-color disables
    them."""

    def __init__(
        self,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        colour: bool = True,
        width: int | None = None,
    ) -> None:
        self.stdin = stdin or sys.stdin
        self.outputs = [Output(stdout or sys.stdout, "standard output"), Output(stderr or sys.stderr, "standard error")]
        """all outputs of the command, including the files of -json-into"""
        self.stdout, self.stderr = (cast(TextIO, output) for output in self.outputs)
        self.stdout_is_data = False
        """whether standard output is for programs, so that remarks and warnings are printed on standard error"""
        self.in_automation = os.environ.get("TF_IN_AUTOMATION", "") != ""
        self._width = width
        self.compact_warnings = False
        self.consolidate = {"warning": True, "error": False}
        self.concise = False
        self.deprecation = "all"
        """the warnings to show about deprecated parts of modules: all, local (of local modules only) or none"""
        self.deprecated_command = ""
        """the command's deprecated name, if it was typed"""
        self.owns_process = False
        """whether the command may handle the signals of the process"""
        self.view: DiagnosticSink | None = None
        """prints diagnostics that end the command; set once the command has chosen a view"""
        self.set_colour(colour)

    def set_colour(self, wanted: bool) -> None:
        """Set whether to use colours. If `wanted` is true, colours are used on terminals, unless the environment
        disables them."""
        wanted = wanted and os.environ.get("TERM") != "dumb"
        allowed = wanted and not os.environ.get("NO_COLOR")
        self.boxed = wanted and is_terminal(self.stderr)
        self.paint = Paint(allowed and is_terminal(self.stdout))
        self.error_paint = Paint(allowed and is_terminal(self.stderr))

    def out(self, text: str = "") -> None:
        """Print lines for people on standard output."""
        self.stdout.write(f"{_harmless(text)}\n")

    def data(self, text: str) -> None:
        """Print lines for programs on standard output, unchanged."""
        self.stdout.write(f"{text}\n")

    def err(self, text: str = "") -> None:
        """Print lines for people on standard error."""
        self.stdout.flush()
        self.stderr.write(f"{_harmless(text)}\n")
        self.stderr.flush()

    def remark(self, text: str = "") -> None:
        """Print lines that are not part of the requested output: on standard error if standard output is read by a
        program, otherwise on standard output."""
        (self.err if self.stdout_is_data else self.out)(text)

    def close(self, code: int) -> int:
        """Flush the output. Returns `code`, or 1 if writing failed on a stream that is not standard error."""
        for output in self.outputs:
            output.flush()
        lost = [output for output in self.outputs if output.problem is not None and output.name != "standard error"]
        for output in lost:
            if not output.is_abandoned:
                reason = getattr(output.problem, "strerror", None) or output.problem
                self.err(f"\nError: Cannot write {output.name}\n\n{reason}. The output there is incomplete.")
        return 1 if lost else code

    @property
    def width(self) -> int:
        return self._width or columns(self.stdout)

    @property
    def height(self) -> int:
        """The height of the terminal in lines; 0 if standard output is not a terminal."""
        if is_terminal(self.stdout):
            try:
                return os.get_terminal_size(self.stdout.fileno()).lines or DEFAULT_HEIGHT
            except (OSError, ValueError, AttributeError):
                return DEFAULT_HEIGHT
        return 0

    @property
    def error_width(self) -> int:
        return self._width or columns(self.stderr)

    @property
    def interactive(self) -> bool:
        """Whether the user can be prompted."""
        return is_terminal(self.stdin)

    def rule(self) -> str:
        """A horizontal line across the terminal."""
        return self.paint("─" * (self.width - 1), "grey")


_STEERING = re.compile(rf"\x1b\[(?:0|{'|'.join(_CODES.values())})(?:;(?:{'|'.join(_CODES.values())}))*m")


def _harmless(text: str) -> str:
    """The text without control characters. The control characters of `Paint`'s styles are kept."""
    if "\x1b" not in text:
        return visible(text)
    parts, at = [], 0
    for style in _STEERING.finditer(text):
        parts += [visible(text[at : style.start()]), style.group()]
        at = style.end()
    return "".join((*parts, visible(text[at:])))


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def columns(stream: TextIO) -> int:
    """The width of a terminal in columns; DEFAULT_WIDTH for other streams."""
    if is_terminal(stream):
        try:
            return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
        except (OSError, ValueError, AttributeError):
            pass
    return DEFAULT_WIDTH


def wrap(text: str, width: int) -> str:
    """Break long lines at spaces, so that they are at most `width` long if possible. Indented lines are unchanged."""
    out = []
    for line in text.split("\n"):
        if len(line) <= width or width <= 1 or line.startswith(" "):
            out.append(line)
            continue
        current = ""
        for word in line.split(" "):
            if current and len(current) + 1 + len(word) > width:
                out.append(current)
                current = word
            else:
                current = f"{current} {word}" if current else word
        out.append(current)
    return "\n".join(out)


def fold(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a line with addresses into lines that are at most `width` long (0: no breaks). Breaks are at spaces,
    otherwise before a dot; they are within brackets and quotes only if there is no other place. The lines after the
    first are indented by `indent` in addition to the indentation of the first."""
    if not width or len(text) <= width:
        return [text]
    lead = text[: len(text) - len(text.lstrip(" "))] + indent
    lines, rest = [], text
    while len(rest) > width:
        at = _break(rest, width)
        if not at:
            break
        lines.append(rest[:at].rstrip(" "))
        rest = lead + rest[at:].lstrip(" ")
    return [*lines, rest]


def _break(text: str, width: int) -> int:
    """The best position at which to break the text into lines of `width` characters; 0 if there is none."""
    depth, is_quoted = 0, False
    blank = dot = module = inner = 0
    begin = len(text) - len(text.lstrip(" ")) + 1
    for at, char in enumerate(text[: width + 1]):
        if char == '"' and text[at - 1] != "\\":
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (char in "[({") - (char in "])}")
        if at < begin:
            continue
        if char == " " and not depth and not is_quoted:
            blank = at
        elif char == "." and not depth and not is_quoted and text[at + 1 : at + 2].isalpha():
            dot = at
            if text[at - 1] == "]" or text.startswith(".module.", at):
                module = at
        elif char in " ,/" and (depth or is_quoted):
            inner = at + (char != " ")
    dot = module if module * 2 > width else dot
    return (blank if blank * 2 > width or blank > dot else dot) or inner


# The output of a command: a stream that may become full, or be closed, while the command runs. A failed write never
# stops the command. The failure is stored, further output is dropped, and the command reports the failure at its end.


_PIECE = 1024
"""maximum number of characters in a write; a pipe accepts a write of this length completely or not at all"""


class Output:
    """A text stream whose `write` and `flush` never fail. `name`: for messages. `problem`: the first failure.
    Characters that UTF-8 lacks (halves of surrogate pairs) become U+FFFD."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.problem: OSError | ValueError | None = None
        self.copies: list[str] | None = None
        """if set, a list to which the output is also appended"""
        self.held: list[str] | None = None
        """if set, a list to which the output is appended instead of being written"""
        self._is_closed = False

    def write(self, text: str) -> int:
        if self.copies is not None:
            self.copies.append(text)
        if self.held is not None:
            self.held.append(text)
            return len(text)
        return self.write_over(text)

    def write_over(self, text: str) -> int:
        """Write text, such as a temporary progress line, only to the stream and not to `copies` or `held`."""
        if self.problem is None:
            try:
                self._write(text)
            except (OSError, ValueError) as problem:
                self._failed(problem)
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Write bytes that are not text, if the stream accepts bytes."""
        self.flush()
        buffer = getattr(self.stream, "buffer", None)
        if self.problem is None and buffer is not None:
            try:
                buffer.write(data)
                buffer.flush()
            except (OSError, ValueError) as problem:
                self._failed(problem)

    def flush(self) -> None:
        if self.problem is None and not self._is_closed:
            try:
                self.stream.flush()
            except (OSError, ValueError) as problem:
                self._failed(problem)

    def close(self) -> None:
        """Write buffered text, and close the stream."""
        self.flush()
        self._is_closed = True
        with suppress(OSError, ValueError):
            self.stream.close()

    @property
    def is_abandoned(self) -> bool:
        """Whether the reader has closed the stream, as `| head` does."""
        return isinstance(self.problem, OSError) and self.problem.errno == errno.EPIPE

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, text: str) -> None:
        if len(text) <= _PIECE:
            try:
                self.stream.write(text)
            except UnicodeEncodeError:
                self.stream.write(_with_whole_characters(text))
            return
        text = _with_whole_characters(text)
        for at in range(0, len(text), _PIECE):
            self.stream.write(text[at : at + _PIECE])

    def _failed(self, problem: OSError | ValueError) -> None:
        """Stop writing, and discard buffered text, which Python would otherwise write at exit."""
        self.problem = problem
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(null, self.stream.fileno())
            os.close(null)


def _with_whole_characters(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# control characters, and characters that change the direction of text, are never shown unchanged
_OBEYED = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **{code: f"\\u{code:04x}" for code in (*range(0x80, 0xA0), 0x061C, *range(0x200E, 0x2010), *range(0x2028, 0x202F))},
    **{code: f"\\u{code:04x}" for code in range(0x2066, 0x206A)},
}
_IN_A_CELL = {
    **_OBEYED,
    **{code: f"\\x{code:02x}" for code in (*range(32), 0x7F)},
    **{ord(char): f"\\{letter}" for char, letter in zip("\n\r\t", "nrt", strict=True)},
}


def visible(text: str) -> str:
    """The text with symbols or escapes instead of control characters; line breaks and tabs remain."""
    return text if text.isprintable() else text.translate(_OBEYED)


def cell(text: str) -> str:
    """The text for a table's cell, without line breaks."""
    return text if text.isprintable() else text.translate(_IN_A_CELL)
