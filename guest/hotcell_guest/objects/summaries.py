"""Summaries of variables: type, size, length, shape and a short text, limited in time and length for any object."""

from __future__ import annotations

import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Callable, Optional

from ..system.deadline import Deadline
from . import tables
from .fork_inspection import TOOK_TOO_LONG, inspect_in_fork
from .short_text import qualified, short_text
from .static_lookup import inherits, is_class, is_one_of

SUMMARY_CHARS = 200
_KNOWN_SECONDS = 0.25

Summary = dict[str, Any]

_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)
_BUILTIN = frozenset({*_SIZED, OrderedDict, defaultdict, Counter, int, float, complex, bool, type(None), range})
_FUNCTIONS = frozenset({types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType})


def summaries(values: list[Any], deadline: Deadline, most: int = SUMMARY_CHARS) -> list[Summary]:
    """One summary per value. Known types take microseconds; all others are inspected together in a fork."""
    found = [_known(value, deadline, most) for value in values]
    unknown = [index for index, summary in enumerate(found) if summary is None]
    seen = inspect_in_fork([values[index] for index in unknown], most, deadline) if unknown else []
    for index, what in zip(unknown, seen):
        value = values[index]
        text = what.pop("text", "")
        found[index] = {"type": qualified(type(value)), "summary": text, **what, **_length_of(value)}
    return [summary or {} for summary in found]


def texts(values: list[Any], deadline: Deadline, most: int) -> list[dict[str, str]]:
    """Type and text of each value: the items of a page."""
    return [{"type": summary["type"], "text": summary["summary"]} for summary in summaries(values, deadline, most)]


def sized_base(value: Any) -> Optional[type]:
    """The builtin container type that the value is an instance of, directly or by inheritance: its methods run no user
    code.
    """
    return next((base for base in _SIZED if inherits(type(value), base)), None)


def length_of(value: Any) -> Optional[int]:
    base: Any = sized_base(value)
    return int(base.__len__(value)) if base is not None else None


def _length_of(value: Any) -> Summary:
    length = length_of(value)
    return {} if length is None else {"length": length}


def _known(value: Any, deadline: Deadline, most: int) -> Optional[Summary]:
    kind = type(value)
    if is_one_of(kind, _BUILTIN):
        return {"type": qualified(kind), "summary": short_text(value, most), "sizeBytes": sys.getsizeof(value), **_length_of(value)}
    if is_one_of(kind, _FUNCTIONS) or is_class(value):
        return {"type": qualified(kind), "summary": short_text(value, most)}
    if tables.prints_itself(value):
        return {"type": qualified(kind), "summary": tables.cell(value)}
    describe = tables.describer(value)
    return None if describe is None else _within(describe, value, deadline, most)


def _within(describe: Callable[[Any, int], Summary], value: Any, deadline: Deadline, most: int) -> Optional[Summary]:
    """Applies a timeout: numpy and pandas are not user code, but a user can change them."""
    try:
        found = deadline.at_most(_KNOWN_SECONDS, lambda: describe(value, most))
    except tables.NotPlain:
        return None
    except Exception as error:  # noqa: BLE001 - an unusual version of a package
        found = {"summary": f"(could not be looked at: {type(error).__name__})"}
    return {"type": qualified(type(value)), "summary": TOOK_TOO_LONG, **(found or {})}
