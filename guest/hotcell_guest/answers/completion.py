"""Completion from the live namespace. No user code runs: a property is listed, but never read."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import sys
import types
from typing import Any, Iterable, Iterator, Optional

from ..objects import known_types
from ..objects.static_lookup import MISSING, attribute, inherits, is_class, is_one_of, places_of
from .answer import Asked
from .code_position import Position, call_around, chain_before, import_at, position_at

_MAX_MATCHES = 200
_MAX_LOOKED_AT = 200_000
_MAX_TEXT_CHARS = 200
_MAX_FILES = 5_000

Match = tuple[str, str]
"""The completed text, and its kind."""


def answer(asked: Asked) -> dict[str, Any]:
    code = asked.text
    cursor = min(asked.number("cursor", len(code), len(code)), len(code))
    length, found = complete(code, cursor, asked.namespace)
    unique: dict[str, str] = {}
    for text, kind in found:
        if len(text) <= _MAX_TEXT_CHARS:
            unique.setdefault(text, kind)
    matches = [{"text": text, "kind": kind} for text, kind in unique.items()][:_MAX_MATCHES]
    return {"matches": matches, "start": cursor - length, "end": cursor}


def complete(code: str, cursor: int, namespace: dict[Any, Any]) -> tuple[int, list[Match]]:
    """The number of characters before the cursor to replace, and the candidates."""
    position = position_at(code, cursor)
    if position.in_comment:
        return 0, []
    if position.string is not None:
        return _in_string(position, namespace)
    imported = import_at(position)
    if imported is not None:
        return _in_import(imported)
    prefix = position.prefix
    head = position.before[: len(position.before) - len(prefix)].rstrip(" \t")
    if head.endswith("."):
        target = resolve(chain_before(position, len(head) - 1), namespace)
        return len(prefix), [] if target is MISSING else _starting(prefix, attributes_of(target))
    return len(prefix), [*_starting(prefix, _parameters(position, namespace)), *_names(prefix, namespace)]


def resolve(expression: Optional[ast.expr], namespace: dict[Any, Any]) -> Any:
    """The value of an expression, if it can be determined without running code; otherwise MISSING."""
    if isinstance(expression, ast.Name):
        found = namespace.get(expression.id, MISSING)
        return builtins.__dict__.get(expression.id, MISSING) if found is MISSING else found
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, (ast.List, ast.Dict, ast.Tuple, ast.Set)):
        return {ast.List: [], ast.Dict: {}, ast.Tuple: (), ast.Set: set()}[type(expression)]
    if isinstance(expression, ast.Attribute):
        owner = resolve(expression.value, namespace)
        return MISSING if owner is MISSING else attribute(_instance_or(owner), expression.attr)
    if isinstance(expression, ast.Subscript):
        return known_types.item_of(resolve(expression.value, namespace), _constant(expression.slice))
    if isinstance(expression, ast.Call):
        made = resolve(expression.func, namespace)
        return _InstanceOf(made) if made is not MISSING and is_class(made) else MISSING
    return MISSING


class _InstanceOf:
    """Represents the result of calling a class, without calling it."""

    def __init__(self, cls: type) -> None:
        self.cls = cls


def _instance_or(value: Any) -> Any:
    return value.cls if type(value) is _InstanceOf else value


def _constant(node: Any) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return MISSING


def attributes_of(value: Any) -> Iterator[Match]:
    """Attribute names with their kind, from the namespaces of the object and its classes."""
    yield from ((name, "column") for name in known_types.column_names(value) if name.isidentifier())
    for place in places_of(_instance_or(value)):
        for name, found in list(place.items())[:_MAX_LOOKED_AT]:
            if type(name) is str and name.isidentifier():
                yield name, kind_of(found)


def kind_of(value: Any) -> str:
    kind = type(value)
    if kind is types.ModuleType:
        return "module"
    if is_one_of(kind, _FUNCTIONS):
        return "function"
    if is_one_of(kind, (property, types.GetSetDescriptorType, types.MemberDescriptorType)):
        return "property"
    return "class" if inherits(kind, type) else "instance"


_FUNCTIONS = frozenset(
    {
        *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType, types.WrapperDescriptorType),
        *(types.ClassMethodDescriptorType, classmethod, staticmethod),
    }
)


def _starting(prefix: str, matches: Iterable[Match]) -> list[Match]:
    """The matches with that prefix, sorted. Names with a leading underscore only if one was typed."""
    found = {text: kind for text, kind in matches if text.startswith(prefix) and (prefix.startswith("_") or not text.startswith("_"))}
    return sorted(found.items(), key=lambda match: (match[0].startswith("__"), match[0]))


def _names(prefix: str, namespace: dict[Any, Any]) -> list[Match]:
    if not prefix:
        # Without a prefix only the session's own names are listed; all names would be too many.
        return _starting("", ((name, kind_of(value)) for name, value in list(namespace.items())[:_MAX_LOOKED_AT] if type(name) is str))
    own = ((name, kind_of(value)) for name, value in list(namespace.items()) if type(name) is str and name.startswith(prefix))
    words = ((word, "keyword") for word in [*keyword.kwlist, *getattr(keyword, "softkwlist", [])])
    given = ((name, kind_of(value)) for name, value in list(builtins.__dict__.items()) if type(name) is str)
    return [*_starting(prefix, own), *_starting(prefix, words), *_starting(prefix, given)]


def _parameters(position: Position, namespace: dict[Any, Any]) -> Iterator[Match]:
    """`name=` parameters of the call around the cursor."""
    bracket = call_around(position)
    if bracket is None:
        return
    function = function_of(resolve(chain_before(position, bracket), namespace))
    if function is None:
        return
    code = function.__code__
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount][:100]:
        if name not in ("self", "cls"):
            yield f"{name}=", "parameter"


def function_of(value: Any) -> Optional[types.FunctionType]:
    """The Python function that a call would run, if that can be determined statically."""
    if value is MISSING:
        return None
    if type(value) is types.MethodType:
        value = value.__func__
    if is_class(value):
        value = attribute(value, "__init__")
    for _ in range(10):
        if type(value) is not types.FunctionType:
            return None
        wrapped = value.__dict__.get("__wrapped__", MISSING)
        if type(wrapped) is not types.FunctionType:
            return value
        value = wrapped
    return None


def _in_string(position: Position, namespace: dict[Any, Any]) -> tuple[int, list[Match]]:
    text = position.string or ""
    before = position.blanked.rstrip(" \t")
    if before.endswith("["):
        owner = resolve(chain_before(position, len(before) - 1), namespace)
        keys = [] if owner is MISSING else known_types.text_keys(owner)
        return len(text), sorted((key, "key") for key in keys if key.startswith(text))
    if "f" in position.string_prefix and text.rfind("{") > text.rfind("}"):
        return complete(text[text.rfind("{") + 1 :], len(text), namespace)
    return _files(text)


def _files(text: str) -> tuple[int, list[Match]]:
    folder, _, start = text.rpartition("/")
    place = (folder or "/") if "/" in text else "."
    found: list[Match] = []
    try:
        with os.scandir(os.path.expanduser(place)) as scan:
            for count, entry in enumerate(scan):
                if count >= _MAX_FILES:
                    break
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    found.append((f"{entry.name}/", "folder") if entry.is_dir() else (entry.name, "file"))
    except (OSError, ValueError):
        return len(start), []
    return len(start), sorted((name.encode("utf-8", "replace").decode(), kind) for name, kind in found)


def _in_import(imported: tuple[str, Any]) -> tuple[int, list[Match]]:
    from ..interpreter import importable

    if imported[0] == "module":
        package, _, start = imported[1].rpartition(".")
        names = importable.submodules(package) if package else importable.top_level()
        return len(start), _starting(start, ((name, "module") for name in names))
    module, start = imported[1]
    loaded = sys.modules.get(module)
    own = attributes_of(loaded) if type(loaded) is types.ModuleType else ((name, "instance") for name in importable.names_in_source(module))
    return len(start), _starting(start, [*own, *((name, "module") for name in importable.submodules(module))])
