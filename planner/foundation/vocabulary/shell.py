"""Words of a command line as a POSIX shell takes them, for messages that suggest what to type."""

from __future__ import annotations


def word(text: str) -> str:
    """One word, quoted where the shell would read something else."""
    import shlex

    return shlex.quote(text)


def option(name: str, value: str) -> str:
    """`-name=value`, the value quoted where that is needed: -exclude='terraform_data.a[0]'."""
    return f"-{name}={word(value)}"


def file(path: str) -> str:
    """The path of a file, always quoted: as most people would do it, unless something would be expanded in it."""
    return word(path) if set(path) & set('"$`\\!\n') else f'"{path}"'
