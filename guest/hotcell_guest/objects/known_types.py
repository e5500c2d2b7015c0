"""Types that our own code may inspect: builtins, and those of numpy and pandas if they are loaded. Always compared by
exact type.
"""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, defaultdict
from typing import Any, Optional

from .static_lookup import MISSING, is_class, is_one_of

_MAX_KEYS = 2_000
_MAPPINGS = (dict, OrderedDict, defaultdict)


def loaded_class(module: str, name: str) -> Optional[type]:
    """A class of a package that is already loaded, read from the module's dictionary without running its code."""
    loaded = sys.modules.get(module)
    if type(loaded) is not types.ModuleType:
        return None
    found = loaded.__dict__.get(name)
    return found if found is not None and is_class(found) else None


def is_frame(value: Any) -> bool:
    return type(value) is loaded_class("pandas", "DataFrame")


def item_of(owner: Any, key: Any) -> Any:
    """`owner[key]`, if no user code runs for it."""
    if owner is MISSING or key is MISSING:
        return MISSING
    if is_one_of(type(owner), _MAPPINGS) and is_one_of(type(key), (str, int, bytes, float, bool)):
        return dict.get(owner, key, MISSING)
    if is_one_of(type(owner), (list, tuple)) and type(key) is int:
        return owner[key] if -len(owner) <= key < len(owner) else MISSING
    if is_frame(owner) and type(key) is str:
        return owner[key] if key in column_names(owner) else MISSING
    return MISSING


def text_keys(owner: Any) -> list[str]:
    """The keys of a dictionary or the columns of a frame that are plain text."""
    if is_one_of(type(owner), _MAPPINGS):
        return [key for key, _ in zip(list(dict.keys(owner)), range(_MAX_KEYS)) if type(key) is str]
    return column_names(owner)


def column_names(value: Any) -> list[str]:
    if not is_frame(value):
        return []
    return [name for name in value.columns[:_MAX_KEYS].tolist() if type(name) is str]
