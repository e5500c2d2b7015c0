"""Build folders. The last few are kept, so that the same source is not built again."""

from __future__ import annotations

import hashlib
import os

from ..system.private_folder import PrivateFolder
from .recipe import Recipe

_KEPT = 4


class Builds:
    """`current` is the folder that was requested last."""

    def __init__(self) -> None:
        self._private = PrivateFolder()
        self._built: list[str] = []
        self.current = ""

    def folder_for(self, recipe: Recipe, source: bytes) -> tuple[str, bool]:
        """Returns the folder with the source in it, and whether it was built there before."""
        key = hashlib.sha256(repr((recipe, source)).encode()).hexdigest()[:8]
        folder = f"{recipe.language}-{key}"
        path = self.current = os.path.join(self._private.path, folder)
        if path in self._built and os.path.isfile(os.path.join(path, recipe.source_name)):
            self._built.remove(path)
            self._built.append(path)
            return path, True
        self._private.make(folder)
        self._private.write(os.path.join(folder, recipe.source_name), source)
        return path, False

    def discard(self, path: str) -> None:
        """Removes a folder whose build failed."""
        self._private.remove(path)

    def mark_built(self, path: str) -> None:
        self._built.append(path)
        while len(self._built) > _KEPT:
            self._private.remove(self._built.pop(0))
