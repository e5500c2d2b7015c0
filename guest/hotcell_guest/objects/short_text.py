"""A short text for a value, by our own code on exact types. No user code runs, and the cost is bounded by the length of
the text.
"""

from __future__ import annotations

import itertools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Callable, Iterable

from .static_lookup import is_class, is_one_of, module_of, name_of

_MOST_BITS = 1_024
_MOST_ITEMS = 20
_DEEPEST = 3


def short_text(value: Any, most: int, depth: int = 0) -> str:
    """At most about `most` characters. A value of an unknown type is shown as the name of its type."""
    try:
        text = _text(value, most, depth)
    except RuntimeError:  # a thread of the user changed it meanwhile
        text = f"<{qualified(type(value))}>"
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def _text(value: Any, most: int, depth: int) -> str:
    kind = type(value)
    if is_one_of(kind, _PLAIN):
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() <= _MOST_BITS else f"int of {value.bit_length():,} bits"
    if kind is range:
        return f"range({short_text(value.start, 20)}, {short_text(value.stop, 20)}, {short_text(value.step, 20)})"
    if is_one_of(kind, (str, bytes, bytearray)):
        return _quoted(value, most)
    if depth < _DEEPEST and is_one_of(kind, _CONTAINERS):
        return _CONTAINERS[kind](value, most, depth + 1)
    if kind is types.ModuleType:
        name = value.__dict__.get("__name__")
        return f"module {name[:200]}" if type(name) is str else "module"
    if is_one_of(kind, (types.FunctionType, types.BuiltinFunctionType)):
        return f"function {str.__str__(value.__name__)[:200]}"
    if kind is types.MethodType:
        return "method"
    if is_class(value):
        return f"class {qualified(value)}"
    return f"<{qualified(kind)}>"


def qualified(cls: type) -> str:
    """`numpy.ndarray`, but the bare name for builtins such as `list` and for classes that the session defined."""
    module = module_of(cls)
    return name_of(cls) if module in ("builtins", "__main__", "") else f"{module}.{name_of(cls)}"


def _quoted(value: Any, most: int) -> str:
    """Truncates the text and keeps the quotes. The mark of the cut is outside, so that it does not look complete."""
    if len(value) <= most:
        return repr(value)
    return f"{repr(value[: max(1, most - 4)])}…"


def _items(values: Iterable[Any], count: int, most: int, depth: int) -> str:
    """As many items as fit."""
    parts: list[str] = []
    room = most
    for item in itertools.islice(values, _MOST_ITEMS):
        part = short_text(item, max(8, min(room, most // 2)), depth)
        room -= len(part) + 2
        if room < 0 and parts:
            break
        parts.append(part)
    return ", ".join([*parts, "…"] if len(parts) < count else parts)


def _sequence(opening: str, closing: str) -> Callable[[Any, int, int], str]:
    def text(value: Any, most: int, depth: int) -> str:
        comma = "," if opening == "(" and len(value) == 1 else ""
        return f"{opening}{_items(value, len(value), most - 2, depth)}{comma}{closing}"

    return text


def _set(value: Any, most: int, depth: int) -> str:
    if not value:
        return f"{type(value).__name__}()"
    inside = "{" + _items(value, len(value), most - 2, depth) + "}"
    return inside if type(value) is set else f"frozenset({inside})"


def _mapping(value: Any, most: int, depth: int) -> str:
    parts: list[str] = []
    room = most
    for key, item in itertools.islice(dict.items(value), _MOST_ITEMS):
        part = f"{short_text(key, max(8, most // 4), depth)}: {short_text(item, max(8, most // 3), depth)}"
        room -= len(part) + 2
        if room < 0 and parts:
            break
        parts.append(part)
    return "{" + ", ".join([*parts, "…"] if len(parts) < dict.__len__(value) else parts) + "}"


def _named_mapping(value: Any, most: int, depth: int) -> str:
    return f"{type(value).__name__}({_mapping(value, most - 12, depth)})"


_PLAIN = frozenset({bool, float, complex, type(None), type(Ellipsis), type(NotImplemented)})
_CONTAINERS: dict[type, Callable[[Any, int, int], str]] = {
    list: _sequence("[", "]"),
    tuple: _sequence("(", ")"),
    deque: _sequence("deque([", "])"),
    set: _set,
    frozenset: _set,
    dict: _mapping,
    OrderedDict: _named_mapping,
    defaultdict: _named_mapping,
    Counter: _named_mapping,
}
