"""The frames of a traceback: the user's, those of libraries, and repetitions."""

from __future__ import annotations

import os
import sys
from types import FrameType, TracebackType
from typing import Any, Iterator, NamedTuple, Optional, Union

from .our_files import is_our_file

_PACKAGES = ("site-packages", "dist-packages")
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_CYTHON = (".pyx", ".pxi", ".pxd")
# Of a deeper stack the middle is left out.
_MAX_KEPT = 1_000
_LONGEST_CYCLE = 6


class Call(NamedTuple):
    """One frame of a traceback. `package` is the library whose code it runs; None for the user's own."""

    file: str
    line: int
    function: str
    package: Optional[str]
    columns: Optional[tuple[int, int]]
    frame: FrameType

    @property
    def place(self) -> tuple[str, int, str]:
        return (self.file, self.line, self.function)


class Repeats(NamedTuple):
    """Stands for `times` more repetitions of the last `calls` calls."""

    calls: int
    times: int


class Omitted(NamedTuple):
    calls: int


Entry = Union[Call, Repeats, Omitted]


def calls_of(traceback: Optional[TracebackType]) -> list[Union[Call, Omitted]]:
    """The calls from the outermost to the innermost, without frames of the guest."""
    head: list[TracebackType] = []
    tail: list[TracebackType] = []
    omitted = 0
    while traceback is not None:
        if not _is_ours(traceback):
            (head if len(head) < _MAX_KEPT else tail).append(traceback)
            if len(tail) > 2 * _MAX_KEPT:
                omitted += _MAX_KEPT
                del tail[:_MAX_KEPT]
        traceback = traceback.tb_next
    middle = [Omitted(omitted)] if omitted else []
    return [*map(_call, head), *middle, *map(_call, tail)]


def folded(calls: list[Union[Call, Omitted]]) -> list[Entry]:
    """The same with recursion collapsed: three or more repetitions become a note."""
    entries: list[Entry] = []
    at = 0
    while at < len(calls):
        length, times = _cycle_at(calls, at)
        entries.extend(calls[at : at + length])
        if times > 2:
            entries.append(Repeats(length, times - 1))
            at += length * times
        else:
            at += length
    return entries


def _cycle_at(calls: list[Union[Call, Omitted]], at: int) -> tuple[int, int]:
    """The length of the block that starts here and repeats most, and the number of repetitions. (1, 1) if nothing
    repeats.
    """
    for length in range(1, _LONGEST_CYCLE + 1):
        block = _places(calls, at, length)
        times = 1
        while len(block) == length and _places(calls, at + times * length, length) == block:
            times += 1
        if times > 2:
            return length, times
    return 1, 1


def _places(calls: list[Union[Call, Omitted]], at: int, length: int) -> list[object]:
    return [call.place if isinstance(call, Call) else call for call in calls[at : at + length]]


def _is_ours(traceback: TracebackType) -> bool:
    return is_our_file(traceback.tb_frame.f_code.co_filename)


def local_names(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame; none if a metaclass gave a class body a mapping of the user's own."""
    found = frame.f_locals
    if type(found) is not dict and type(found).__name__ != "FrameLocalsProxy":
        return {}
    return {name: value for name, value in dict(found).items() if type(name) is str}


def package_of(file: str) -> Optional[str]:
    """The library that a file belongs to: `pandas`, `json`. None for the user's code."""
    for folder in _PACKAGES:
        _, found, rest = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return _first_name(rest)
    if file.startswith(_STANDARD_LIBRARY):
        return _first_name(file[len(_STANDARD_LIBRARY) :])
    if file.startswith("<frozen "):
        return file[8:].rstrip(">").split(".")[0] or "Python"
    # A Cython module: the path is relative to the tree in which the package was built.
    if file.endswith(_CYTHON) and not os.path.isabs(file) and os.sep in file:
        return _first_name(file)
    return None


def _first_name(path: str) -> str:
    return path.split(os.sep, maxsplit=1)[0].removesuffix(".py")


def _call(traceback: TracebackType) -> Call:
    code = traceback.tb_frame.f_code
    line = traceback.tb_lineno if isinstance(traceback.tb_lineno, int) else 0
    return Call(code.co_filename, line, code.co_name, package_of(code.co_filename), _columns(traceback, line), traceback.tb_frame)


def _columns(traceback: TracebackType, line: int) -> Optional[tuple[int, int]]:
    """The columns of the failing expression in its line, in bytes; only from Python 3.11 on."""
    if sys.version_info < (3, 11) or traceback.tb_lasti < 0:
        return None
    positions: Iterator[tuple[Optional[int], ...]] = traceback.tb_frame.f_code.co_positions()
    for number, (first, last, begin, end) in enumerate(positions):
        if number == traceback.tb_lasti // 2:
            return (begin, end) if first == last == line and begin is not None and end is not None else None
    return None
