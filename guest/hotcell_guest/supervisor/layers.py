"""Layers of packages: requests of the host, and what they mean for kernels with preloads."""

from __future__ import annotations

import os
import sys
from typing import Callable, Iterable, Optional

from ..files.layer_files import SentLayer
from ..files.uploads import Uploads
from ..files.workspace_files import FileError
from ..system.site_layers import LAYERS, layer_names
from ..wire.frames import Frame, Head
from ..wire.replies import Reply
from .all_kernels import Kernels

NODE_MODULES = "/node_modules"
# Unknown before Python 3.10; then more kernels than necessary start without preloads.
STANDARD_MODULES: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
_MAX_ENTRIES = 10_000
_MAX_NAMED = 100


class Layers:
    """Serves `layers`, `layer` and `layer.write`. `replace_unused` starts the Python kernel again if it has run nothing.

    The folder is read again by every kernel, so nothing has to be undone when a host takes over.
    """

    def __init__(
        self,
        uploads: Uploads,
        kernels: Kernels,
        reply: Reply,
        replace_unused: Callable[[Callable[[], None]], None],
        *,
        folder: str = LAYERS,
        node_modules: str = NODE_MODULES,
    ) -> None:
        self._uploads = uploads
        self._kernels = kernels
        self._reply = reply
        self._replace_unused = replace_unused
        self._folder = folder
        self._node_modules = node_modules
        self._names: set[str] = set()
        self._in_stage: set[str] = set()
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {
            "layers": self._list,
            "layer": self._activate,
            "layer.write": self._write,
        }

    def name_preloaded(self, modules: Iterable[str]) -> None:
        """Names the modules that another process than this one has loaded, of which kernels are forked."""
        self._in_stage = {_top_level(name) for name in modules}

    @property
    def supersede_preloads(self) -> bool:
        """Whether a layer has another version of a module that kernels are forked with. A kernel must then start without
        the preloads: most extension modules can be loaded only once by a process.
        """
        return bool(self._names) and bool(self._superseded(self._names))

    def _superseded(self, names: set[str]) -> set[str]:
        return names & (self._in_stage | {_top_level(name) for name in sys.modules})

    # Requests

    def _list(self, _frame: Frame) -> Head:
        return {"names": layer_names(self._folder)}

    def _write(self, frame: Frame) -> None:
        number, name = int(frame.head["id"]), str(frame.head["name"])
        layer = SentLayer(self._folder, name, self._node_modules)

        def finish() -> None:
            layer.finish()
            self._begin_using(number, name)

        self._uploads.begin(int(frame.head["stream"]), number, layer, finish)

    def _activate(self, frame: Frame) -> None:
        name = str(frame.head["name"])
        if not name.isdigit() or not os.path.isdir(os.path.join(self._folder, name)):
            raise FileError("not-found", f"layer {name}: it is not in {self._folder}")
        self._begin_using(int(frame.head["id"]), name)

    def _begin_using(self, number: int, name: str) -> None:
        names = _modules_in(os.path.join(self._folder, name, "python"))
        self._names |= names
        superseded = self._superseded(names)
        python = self._kernels.python
        if superseded and not python.has_worked:
            self._replace_unused(lambda: self._reply(number, {"superseded": []}))
            return
        if python.kernel is not None:
            python.kernel.send({"type": "layers"})
        if python.has_worked:
            superseded |= self._in_older(names, name)
        self._reply(number, {"superseded": sorted(superseded)[:_MAX_NAMED]})

    def _in_older(self, names: set[str], layer: str) -> set[str]:
        """Those that older layers or the environment have too. Code of the user may have imported them; a kernel that is busy
        cannot be asked.
        """
        older = [os.path.join(self._folder, one, "python") for one in layer_names(self._folder) if one < layer]
        packages = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
        return names & {module for folder in older + packages for module in _modules_in(folder)}


def _modules_in(folder: str) -> set[str]:
    """The modules that a layer can replace: those of the standard library come before it, and a folder without
    `__init__.py` is a part of a namespace package.
    """
    try:
        with os.scandir(folder) as entries:
            found = [entry for _, entry in zip(range(_MAX_ENTRIES), entries)]
    except OSError:
        return set()
    names = {
        _top_level(entry.name)
        for entry in found
        if entry.name.endswith((".py", ".so")) or os.path.exists(os.path.join(entry.path, "__init__.py"))
    }
    return names - STANDARD_MODULES


def _top_level(name: str) -> str:
    return name.partition(".")[0]
