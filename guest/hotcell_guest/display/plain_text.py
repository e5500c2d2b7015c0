"""The plain text of an object: its repr, or what it says of itself to IPython by `_repr_pretty_`."""

from __future__ import annotations

from typing import Any

from ..objects.static_lookup import defines_any, is_one_of

_PRETTY = ("_repr_pretty_",)
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_MAX_LOOKED_AT = 100


def text_of(item: Any) -> str:
    """Raises the errors of the user's methods."""
    if _is_pretty(item):
        try:
            from IPython.lib import pretty  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return repr(item)
        text: str = pretty.pretty(item)
        return text
    return repr(item)


def _is_pretty(item: Any) -> bool:
    """Whether the object, or one of the first members of a plain container, has the method. Most need one look at their type."""
    kind = type(item)
    if not is_one_of(kind, _CONTAINERS):
        return not is_one_of(kind, _PLAIN) and defines_any(kind, _PRETTY)
    members = item.values() if kind is dict else item
    for _, member in zip(range(_MAX_LOOKED_AT), members):
        if not is_one_of(type(member), _PLAIN) and defines_any(type(member), _PRETTY):
            return True
    return False


_PLAIN = frozenset({int, float, str, bool, bytes, complex, type(None)})
