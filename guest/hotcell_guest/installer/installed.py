"""Packages that the session has in layers: `npm ls`, and what cannot be uninstalled."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from .real_program import LAYERS
from .request import Invalid

_MAX_BYTES = 1_048_576


def refuse_uninstall(packages: list[str], installed: set[str]) -> None:
    """Raises Invalid if one of the packages is in a layer, which is read-only. Other packages are the real program's affair."""
    for package in packages:
        if package in installed:
            raise Invalid(
                f"{package}: installed packages are read-only here, and cannot be removed from a session. "
                "Install another version, or open a new session and install what it needs."
            )


def python_packages(layers: str = LAYERS) -> set[str]:
    """The normalized names of the Python packages in layers."""
    folders = [os.path.join(layers, name, "python") for name in _names(layers) if name.isdigit()]
    infos = [entry for folder in folders for entry in _names(folder) if entry.endswith(".dist-info")]
    return {normalized(entry.partition("-")[0]) for entry in infos}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name, maxsplit=1)[0]).lower()


def node_packages(layers: str = LAYERS) -> dict[str, str]:
    """The versions of the packages at /node_modules, by name."""
    top = os.path.join(layers, "node_modules")
    found = [name for name in _names(top) if not name.startswith(("@", "."))]
    found += [f"{scope}/{name}" for scope in _names(top) if scope.startswith("@") for name in _names(os.path.join(top, scope))]
    return {name: _version(os.path.join(top, name, "package.json")) for name in sorted(found)}


def node_tree(wanted: list[str], as_json: bool, layers: str = LAYERS) -> str:
    """As `npm ls` prints it."""
    packages = {name: version for name, version in node_packages(layers).items() if not wanted or name in wanted}
    if as_json:
        return json.dumps({"dependencies": {name: {"version": version} for name, version in packages.items()}}, indent=2)
    lines = [f"{name}@{version}" for name, version in packages.items()] or ["(empty)"]
    return "\n".join(["/node_modules", *(f"├── {line}" for line in lines[:-1]), f"└── {lines[-1]}"])


def _version(path: str) -> str:
    try:
        with open(path, "rb") as file:
            described: Any = json.loads(file.read(_MAX_BYTES))
        return str(described.get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
