"""Runs a function once, right after a module is imported (or at once if it already is)."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Optional, Sequence

Hook = Callable[[ModuleType], None]


class AfterImport:
    """A finder that finds nothing itself: it wraps the loader that another finder returned. Importing its base class
    would delay a start by 7 ms.
    """

    def __init__(self) -> None:
        self._hooks: dict[str, Hook] = {}

    def add(self, name: str, hook: Hook) -> None:
        """A hook must not raise: the user's import would fail with our error."""
        loaded = sys.modules.get(name)
        if loaded is not None:
            hook(loaded)
            return
        self._hooks[name] = hook
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        hook = self._hooks.pop(fullname, None)
        if hook is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            self._hooks[fullname] = hook
            return None
        _call_after_exec(spec.loader, hook)
        return spec


def _call_after_exec(loader: Any, hook: Hook) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        hook(module)

    loader.exec_module = exec_module
