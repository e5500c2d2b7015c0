"""The modules that can be imported, and the names in them, without importing any."""

from __future__ import annotations

import ast
import os
import sys
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES, PathFinder
from typing import Iterable, Optional

_SUFFIXES = tuple(sorted([*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES], key=len, reverse=True))
_MAX_ENTRIES = 10_000
_MAX_SOURCE_BYTES = 500_000

_listed: dict[str, tuple[int, set[str]]] = {}


def top_level() -> set[str]:
    names = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
    for folder in sys.path:
        if type(folder) is str:
            names |= _in_folder(folder or ".")
    return names


def submodules(package: str) -> set[str]:
    names: set[str] = set()
    for folder in _folders_of(package):
        names |= _in_folder(folder)
    return names


def names_in_source(module: str) -> list[str]:
    """The top-level names of a module that is not loaded, read from its source."""
    source = _source_of(module)
    if source is None:
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [name for node in tree.body for name in _defined_by(node)]


def _defined_by(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*"]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _in_folder(folder: str) -> set[str]:
    """Names of modules in a folder, cached until it changes."""
    try:
        changed = os.stat(folder).st_mtime_ns
        known = _listed.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        names = set()
        with os.scandir(folder) as scan:
            for count, entry in enumerate(scan):
                if count >= _MAX_ENTRIES:
                    break
                name = _module_name(entry.name)
                if name is not None:
                    names.add(name)
    except (OSError, ValueError):
        return set()
    _listed[folder] = (changed, names)
    return names


def _module_name(file: str) -> Optional[str]:
    for suffix in _SUFFIXES:
        if file.endswith(suffix):
            file = file[: -len(suffix)]
            break
    return file if file.isidentifier() and file not in ("__init__", "__pycache__") else None


def _folders_of(package: str) -> list[str]:
    folders = [folder for folder in sys.path if type(folder) is str]
    for part in package.split("."):
        folders = [os.path.join(folder or ".", part) for folder in folders]
    return [folder for folder in folders if os.path.isdir(folder)]


def _source_of(module: str) -> Optional[bytes]:
    *parents, last = module.split(".")
    places = _folders_of(".".join(parents)) if parents else None
    try:
        spec = PathFinder.find_spec(last, places)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py") or os.path.getsize(spec.origin) > _MAX_SOURCE_BYTES:
            return None
        with open(spec.origin, "rb") as file:
            return file.read(_MAX_SOURCE_BYTES)
    except (OSError, ImportError, ValueError):
        return None
