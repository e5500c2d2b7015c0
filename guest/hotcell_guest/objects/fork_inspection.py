"""Inspects objects of the user's classes in a fork of the kernel, so that side effects of their code end with the fork.

An endless loop, also one in C, a caught interrupt, a gigabyte of text, a changed namespace, a signal handler, an exit:
none of it reaches the kernel, so none costs the session its variables.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import time
import warnings
from typing import Any, Callable, NoReturn, Optional

from ..system import linux
from ..system.deadline import Deadline
from ..system.descriptors import keep_only
from ..system.limits import mapped_data_bytes
from .static_lookup import class_namespace, mro_of

ITEM_SECONDS = 0.25
# Timeout for the first output of a fork of a large kernel on a busy machine. No user code can delay it.
_START_SECONDS = 0.75
TOOK_TOO_LONG = "(took too long)"
NOT_LOOKED_AT = "(not looked at: out of time)"
_NO_PROCESS = "(not looked at: no process could be started)"
_MORE_MEMORY_BYTES = 67_108_864
_MAX_LINE_BYTES = 1_048_576
_KEPT_SECONDS = 0.2

Seen = dict[str, Any]
"""`text`, and if the object has them `length`, `shape` and `sizeBytes`. All of it comes from user code, in plain types.
"""


def inspect_in_fork(values: list[Any], most: int, deadline: Deadline) -> list[Seen]:
    """Inspects each value; its text has at most `most` characters. Returns before the deadline, with the results so
    far.
    """
    seen: list[Seen] = [{} for _ in values]
    deadline.suspend()
    try:
        begin = 0
        while begin < len(values):
            if deadline.remaining() < _KEPT_SECONDS:
                _fill(seen, begin, NOT_LOOKED_AT)
                break
            try:
                begin = _look_from(begin, values, seen, most=most, deadline=deadline)
            except OSError:
                _fill(seen, begin, _NO_PROCESS)
                break
    finally:
        deadline.resume()
    return seen


def _fill(seen: list[Seen], begin: int, text: str) -> None:
    for item in seen[begin:]:
        item.setdefault("text", text)


def _look_from(begin: int, values: list[Any], seen: list[Seen], *, most: int, deadline: Deadline) -> int:
    """Starts one fork; returns the first item that the next fork must continue with."""
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning about threads: the child uses none of them
            child = os.fork()
        if child == 0:
            _be_the_fork(writing, begin, values, most)
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    os.close(writing)
    try:
        return _collect(reading, begin, seen, most=most, deadline=deadline)
    finally:
        os.close(reading)
        _end(child)


def _collect(reading: int, begin: int, seen: list[Seen], *, most: int, deadline: Deadline) -> int:
    """Reads the output of the fork until it is silent for too long. The next expected item is the one that it hangs on."""
    expected, buffer, has_begun = begin, b"", False
    item_end = time.monotonic() + _START_SECONDS + ITEM_SECONDS
    while expected < len(seen):
        wait = min(item_end - time.monotonic(), deadline.remaining() - _KEPT_SECONDS / 2)
        ready = wait > 0 and select.select([reading], [], [], wait)[0]
        chunk = os.read(reading, 65_536) if ready else b""
        if not chunk or len(buffer) > _MAX_LINE_BYTES:
            seen[expected].setdefault("text", TOOK_TOO_LONG if not ready else "(ended the process that looked at it)")
            return expected + 1
        *lines, buffer = (buffer + chunk).split(b"\n")
        before = expected
        for line in lines:
            expected = _take(line, expected, seen, most)
        # Only a new item resets the timeout, so that endless output of one item cannot starve the others.
        if lines and (expected > before or not has_begun):
            has_begun = True
            item_end = time.monotonic() + ITEM_SECONDS
    return expected


def _take(line: bytes, expected: int, seen: list[Seen], most: int) -> int:
    """SECURITY: user code can write anything to this pipe. Only plain, small values of the expected item are accepted."""
    try:
        number, member, value = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return expected
    if type(number) is not int or number != expected or expected >= len(seen) or type(member) is not str:
        return expected
    if member == "done":
        seen[number].setdefault("text", "")
        return expected + 1
    check = _CHECKS.get(member)
    if check is not None and check(value):
        seen[number].setdefault(member, value[:most] if type(value) is str else value)
    return expected


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: type(value) is str,
    "length": _is_count,
    "sizeBytes": _is_count,
    "shape": lambda value: type(value) is list and len(value) <= 32 and all(map(_is_count, value)),
}


def _end(child: int) -> None:
    """Kills the fork with its process group, which includes its own forks."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass  # the user's SIGCHLD handler, or one of the user's threads, was faster


# In the fork


def _be_the_fork(writing: int, begin: int, values: list[Any], most: int) -> NoReturn:
    try:
        # SECURITY: the fork must not have the kernel's socket, on which it could forge answers, nor files or
        # connections whose state it shares with the kernel.
        writing = keep_only(writing, 3)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.setpgid(0, 0)
        linux.die_with_parent()
        for known in (signal.SIGALRM, signal.SIGINT):
            signal.signal(known, signal.SIG_DFL)
        gc.disable()
        _limit(resource.RLIMIT_DATA, mapped_data_bytes() + _MORE_MEMORY_BYTES)
        _limit(resource.RLIMIT_FSIZE, 0)
        _say(writing, begin, "begun", True)
        for number in range(begin, len(values)):
            _say(writing, number, "text", _text_of(values[number], most))
            for member, measure in _MEASURES.items():
                _say(writing, number, member, _or_none(measure, values[number]))
            _say(writing, number, "done", True)
    finally:
        os._exit(0)


def _limit(which: int, value: int) -> None:
    try:
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        pass  # gVisor has fewer of them; the sandbox's own limits apply


def _say(writing: int, number: int, member: str, value: Any) -> None:
    if value is not None:
        data = memoryview(json.dumps([number, member, value]).encode() + b"\n")
        while data:
            data = data[os.write(writing, data) :]


def _text_of(value: Any, most: int) -> str:
    try:
        text = repr(value)
        return str.__getitem__(text, slice(0, most)) + ("…" if str.__len__(text) > most else "")
    except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
        return f"(its text could not be made: {type(error).__name__})"


def _or_none(measure: Callable[[Any], Any], value: Any) -> Any:
    try:
        return measure(value)
    except BaseException:  # noqa: BLE001 - the object has no such size
        return None


def _length(value: Any) -> Optional[int]:
    return len(value) if any("__len__" in class_namespace(cls) for cls in mro_of(type(value))) else None


def _shape(value: Any) -> Optional[list[int]]:
    shape = getattr(value, "shape", None)
    return [int(side) for side in shape][:32] if isinstance(shape, tuple) else None


def _size_bytes(value: Any) -> Optional[int]:
    size = getattr(value, "nbytes", None)
    return int(size) if isinstance(size, int) else None


_MEASURES: dict[str, Callable[[Any], Any]] = {"length": _length, "shape": _shape, "sizeBytes": _size_bytes}
