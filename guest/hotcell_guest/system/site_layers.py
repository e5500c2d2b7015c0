"""Layers of packages on sys.path. Kernels import this module; the host also puts it beside the layers, as the module
`hotcell_layers`, where every other Python of the sandbox finds it: so it imports nothing of the guest.
"""

from __future__ import annotations

import os
import site
import sys

LAYERS = "/opt/hotcell/layers"
INSTALLER = "0000"
"""The name of the layer with our `pip`, `uv` and `npm`, in a sandbox whose session may install packages."""

_OURS = {"install", "uninstall"}


def layer_names(folder: str = LAYERS) -> list[str]:
    """The names of the layers, the oldest first. They are numbers of a fixed length."""
    try:
        return sorted(name for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return []


def add_layers(folder: str = LAYERS) -> bool:
    """Adds the layers that are not on sys.path yet, and returns whether there were any. The newest comes first, before
    the packages of the environment and after the standard library, so that it can replace the former and not the
    latter. Each is a site directory: its .pth files are read.
    """
    places = [os.path.join(folder, name, "python") for name in layer_names(folder)]
    new = [place for place in places if place not in sys.path and os.path.isdir(place)]
    for place in new:
        known = set(sys.path)
        site.addsitedir(place)
        added = [entry for entry in sys.path if entry not in known]
        sys.path[:] = [entry for entry in sys.path if entry in known]
        index = _after_standard_library()
        sys.path[index:index] = added
    return bool(new)


def _after_standard_library() -> int:
    library = os.path.dirname(os.__file__)
    own = (library, os.path.join(library, "lib-dynload"))
    return max((index for index, entry in enumerate(sys.path) if entry in own), default=len(sys.path) - 1) + 1


def run_next_sitecustomize(hooks: str) -> None:
    """Runs the `sitecustomize` that the one in the folder `hooks` hides."""
    from importlib import machinery, util

    spec = machinery.PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if entry != hooks])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(util.module_from_spec(spec))


def may_install(folder: str = LAYERS) -> bool:
    """Whether the session may install packages."""
    return "HOTCELL_CALLS" in os.environ and os.path.isdir(os.path.join(folder, INSTALLER))


def hand_over_to_installer(folder: str = LAYERS) -> None:
    """Becomes our `pip` if this process was started as `python -m pip install` or `uninstall`. The hook calls it, when site is imported: so
    it also works in subprocesses, and `import pip` and other subcommands are those of the real pip.
    """
    arguments = list(getattr(sys, "argv", ()))
    if arguments[:1] != ["-m"] or not _OURS & set(arguments) or "HOTCELL_REAL_INSTALLER" in os.environ or not may_install(folder):
        return
    words = list(getattr(sys, "orig_argv", ())) or _command_line()
    module = words[-len(arguments)] if len(words) > len(arguments) else ""
    if module == "pip" or (module.startswith("-") and module.endswith("mpip")):
        run = os.path.join(folder, INSTALLER, "installer", "run.py")
        os.execv(sys.executable, [sys.executable, "-IS", run, "pip", "--as-module", *arguments[1:]])


def _command_line() -> list[str]:
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
