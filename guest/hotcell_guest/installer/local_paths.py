"""Packages that are files or folders of the workspace."""

from __future__ import annotations

import os
import re

from .request import Invalid, OnlyWithNetwork

_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|git@)|^[^\s;]+\s*@\s*[a-z][a-z0-9+.-]*:|://", re.IGNORECASE)
_FILES = (".whl", ".tar.gz", ".tgz", ".zip")


def require_no_address(package: str) -> None:
    if _ADDRESS.search(package.split(";", maxsplit=1)[0]):
        raise OnlyWithNetwork(
            f"{package}: addresses and repositories are not accepted here. Name a package of the registry, "
            "or put the wheel into the workspace and name its path."
        )


def is_path(package: str) -> bool:
    """As pip and npm tell paths from names."""
    bare = package.split("[", maxsplit=1)[0]
    return bare in (".", "..") or bare.startswith(("./", "../", "/", "~/")) or bare.lower().endswith(_FILES)


def in_workspace(package: str, workspace: str) -> str:
    """The path as the host takes it: relative to the workspace, with `./` before it."""
    path, bracket, extras = package.partition("[")
    relative = os.path.relpath(os.path.realpath(os.path.expanduser(path)), os.path.realpath(workspace))
    if relative == ".." or relative.startswith("../"):
        raise Invalid(f"{path}: it is not in the workspace ({workspace}); copy it there first")
    if not os.path.exists(os.path.expanduser(path)):
        raise Invalid(f"{path}: there is no such file or folder")
    return ("." if relative == "." else f"./{relative}") + bracket + extras
