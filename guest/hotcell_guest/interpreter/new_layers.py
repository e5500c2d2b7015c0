"""Layers of packages that appear while a kernel lives."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Optional, Sequence

from ..system.site_layers import LAYERS, add_layers


class NewLayers:
    """Adds new layers to sys.path. As a finder it finds nothing itself: it adds them before a module is looked for,
    because a layer may appear while code runs, and the code then imports from it.
    """

    def __init__(self, folder: str = LAYERS) -> None:
        self._folder = folder
        self._seen = (0, 0)

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def refresh(self) -> None:
        """Costs one system call if nothing has changed."""
        try:
            status = os.stat(self._folder)
        except OSError:
            return
        seen = (status.st_mtime_ns, status.st_nlink)
        if seen == self._seen:
            return
        self._seen = seen  # before the layers are added: their .pth files may import modules
        if add_layers(self._folder):
            importlib.invalidate_caches()

    def find_spec(self, _name: str, path: Optional[Sequence[str]], _target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        if path is None:
            self.refresh()
        return None
