"""Return values of plotting functions, which tell a reader nothing beside the figure that they drew."""

from __future__ import annotations

import sys
from typing import Any

from ..objects.static_lookup import inherits, module_of, mro_of

_MAX_MEMBERS = 50
_MAX_DEPTH = 3


def is_of_drawing(value: Any, depth: int = 0) -> bool:
    """Whether a value is made of artists: a line, axes, an array of axes, the bins and bars of a histogram."""
    kind = type(value)
    if _is_artist(kind):
        return True
    if depth >= _MAX_DEPTH:
        return False
    if kind is dict:
        members = list(value.values())[:_MAX_MEMBERS]
        return len(members) > 0 and any(is_of_drawing(member, depth + 1) for member in members)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return value.dtype == object and value.size > 0 and is_of_drawing(value.flat[0], depth + 1)
    if inherits(kind, list) or inherits(kind, tuple):
        return any(is_of_drawing(member, depth + 1) for member in list(value)[:_MAX_MEMBERS])
    return False


def _is_artist(kind: type) -> bool:
    return any(module_of(base) in _MODULES for base in mro_of(kind))


_MODULES = frozenset(("matplotlib.artist", "matplotlib.container", "matplotlib.colorbar", "matplotlib.streamplot", "seaborn.axisgrid"))
