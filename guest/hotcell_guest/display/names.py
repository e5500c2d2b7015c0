"""The names under which user code finds display() and related functions. Their implementation is imported on first use."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any, Callable

from ..system.import_hooks import AfterImport

_FUNCTIONS = ("display", "update_display", "clear_output", "publish_display_data")
_IN_BUILTINS = ("display", "update_display", "clear_output")
_IPYTHON_FUNCTIONS = "IPython.core.display_functions"
# Modules of IPython that have their own copies of the names.
_HOLDERS = (
    _IPYTHON_FUNCTIONS,
    "IPython.display",
    "IPython.core.displaypub",
    "IPython.core.interactiveshell",
    "IPython.core.magics.display",
)


def install(hooks: AfterImport, displays: Callable[[], Any]) -> None:
    """Makes the names available as builtins, and by `from IPython.display import display`, whose own version would only
    print without a shell.
    """
    functions = {name: _lazily(name, displays) for name in _FUNCTIONS}
    for name in _IN_BUILTINS:
        setattr(builtins, name, functions[name])
    hooks.add(_IPYTHON_FUNCTIONS, lambda module: _take_over(module, functions))


def _lazily(name: str, displays: Callable[[], Any]) -> Callable[..., Any]:
    def function(*arguments: Any, **options: Any) -> Any:
        return getattr(displays(), name)(*arguments, **options)

    function.__name__ = function.__qualname__ = name
    return function


def _take_over(module: ModuleType, functions: dict[str, Callable[..., Any]]) -> None:
    for name, replacement in functions.items():
        original = getattr(module, name, None)
        holders = [sys.modules.get(holder) for holder in _HOLDERS]
        for holder in holders:
            if holder is not None and original is not None and holder.__dict__.get(name) is original:
                setattr(holder, name, replacement)
