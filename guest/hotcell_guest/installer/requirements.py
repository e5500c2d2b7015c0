"""Requirements files, which are read inside: the host gets their lines only."""

from __future__ import annotations

import os
import re
from typing import Iterator

from .request import Invalid, OnlyWithNetwork

_MAX_BYTES = 1_048_576
_MAX_DEPTH = 5
_COMMENT = re.compile(r"(?:^|\s)#.*$")


def requirements_in(path: str, depth: int = 1) -> Iterator[str]:
    """The packages of a file and of the files that it includes."""
    if depth > _MAX_DEPTH:
        raise Invalid(f"{path}: requirements files include each other more than {_MAX_DEPTH} times")
    for line in _lines(path):
        if not line.startswith("-"):
            if " --hash" in line:
                raise OnlyWithNetwork(f"{path}: hashes of packages are not supported here. Leave out --hash.")
            yield line
            continue
        name, value = _option(line)
        if name in ("-r", "--requirement"):
            yield from requirements_in(os.path.join(os.path.dirname(path), value), depth + 1)
        elif name in ("-e", "--editable"):
            yield value
        elif name not in ("--prefer-binary", "--only-binary", "--no-binary"):
            raise OnlyWithNetwork(f"{path}: {name} is not supported here: packages come from the registries of the host. Remove the line.")


def _lines(path: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"Could not open requirements file: {path}: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise Invalid(f"{path}: a requirements file may have at most {_MAX_BYTES} bytes")
    text = content.decode("utf-8-sig", "replace").replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.splitlines():
        line = " ".join(_COMMENT.sub("", line).split())
        if line:
            yield line


def _option(line: str) -> tuple[str, str]:
    """`-r file`, `-rfile`, `--requirement=file`."""
    found = re.match(r"(--[a-z0-9-]+|-[a-zA-Z])[ =]?(.*)", line)
    return (found[1], found[2].strip()) if found else (line, "")
