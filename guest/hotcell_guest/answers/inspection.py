"""`inspect` (`name?`): signature and first lines of the documentation of the name at the cursor, without running code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import types
from typing import Any, Optional

from ..objects.short_text import short_text
from ..objects.static_lookup import MISSING, attribute, class_namespace, is_class, is_one_of, module_of, mro_of, name_of
from .answer import Asked
from .code_position import call_around, chain_before, position_at
from .completion import function_of, resolve

_MAX_DOC_CHARS = 4_000
_MAX_DOC_LINES = 40
_MAX_SIGNATURE_CHARS = 2_000
_REST_OF_NAME = re.compile(r"\w*")


def answer(asked: Asked) -> dict[str, Any]:
    code = asked.text
    cursor = min(asked.number("cursor", len(code), len(code)), len(code))
    name, value = _at(code, cursor, asked.namespace)
    if value is MISSING:
        return {"found": False}
    found: dict[str, Any] = {"found": True, "name": name[:200], "type": name_of(type(value)), "summary": short_text(value, 500)}
    signature, file, doc = signature_of(value), file_of(value), doc_of(value)
    if signature is not None:
        found["signature"] = signature
    if file is not None:
        found["file"] = file
    if doc is not None:
        found["doc"] = doc
    return found


def _at(code: str, cursor: int, namespace: dict[Any, Any]) -> tuple[str, Any]:
    """The value of the name under the cursor, or the function whose call the cursor is in."""
    rest = _REST_OF_NAME.match(code, cursor)
    position = position_at(code, rest.end() if rest else cursor)
    ends = [len(position.before.rstrip(" \t?"))]
    bracket = call_around(position)
    if bracket is not None:
        ends.append(bracket)
    for end in ends if position.string is None and not position.in_comment else ends[1:]:
        expression = chain_before(position, end)
        value = resolve(expression, namespace)
        if expression is not None and value is not MISSING:
            return ast.unparse(expression)[-200:], value
    return "", MISSING


def doc_of(value: Any) -> Optional[str]:
    """The value's own documentation, or that of its class."""
    doc = attribute(value, "__doc__")
    if type(doc) is not str:
        return None
    lines = inspect.cleandoc(doc[:_MAX_DOC_CHARS]).split("\n")
    cut = len(doc) > _MAX_DOC_CHARS or len(lines) > _MAX_DOC_LINES
    text = "\n".join(lines[:_MAX_DOC_LINES])[:_MAX_DOC_CHARS]  # tabs have become spaces, so it may have grown
    return text + ("\n…" if cut else "")


def file_of(value: Any) -> Optional[str]:
    """The file that defines a function or module; for code that was typed, the name of its input."""
    if type(value) is types.ModuleType:
        file = attribute(value, "__file__")
    else:
        function = function_of(value)
        file = None if function is None else function.__code__.co_filename
    return file[:1_000] if type(file) is str else None


def signature_of(value: Any) -> Optional[str]:
    function = function_of(value)
    if function is not None:
        drop_first = type(value) is types.MethodType or is_class(value) or function.__code__.co_varnames[:1] == ("self",)
        return _of_function(function, drop_first)[:_MAX_SIGNATURE_CHARS]
    if is_one_of(type(value), (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        text = value.__text_signature__
    elif is_class(value):
        text = type.__dict__["__text_signature__"].__get__(value) if module_of(value) == "builtins" else None
    else:
        return None
    return re.sub(r"\$\w+(, /)?(, )?", "", text)[:_MAX_SIGNATURE_CHARS] if type(text) is str else None


def _of_function(function: types.FunctionType, drop_first: bool) -> str:
    """Formats a signature ourselves: inspect.signature reads the function's attributes, and prints defaults by their
    own `__repr__`.
    """
    code = function.__code__
    names = code.co_varnames
    positional = list(names[: code.co_argcount])
    defaults = function.__defaults__ or ()
    values = dict(zip(positional[len(positional) - len(defaults) :], defaults))
    annotations = _annotations_of(function)
    parts = [_parameter(name, annotations, values) for name in positional]
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    if drop_first and parts:
        del parts[0]
        if parts[:1] == ["/"]:
            del parts[0]
    at = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        parts.append("*" + _parameter(names[at], annotations, {}))
        at += 1
    elif code.co_kwonlyargcount:
        parts.append("*")
    only = function.__kwdefaults__ if type(function.__kwdefaults__) is dict else {}
    parts += [_parameter(name, annotations, only) for name in names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append("**" + _parameter(names[at], annotations, {}))
    returns = annotations.get("return", MISSING)
    return f"({', '.join(parts)})" + ("" if returns is MISSING else f" -> {_annotation(returns)}")


def _annotations_of(function: types.FunctionType) -> dict[str, Any]:
    """From 3.14 on annotations are evaluated on access, by user code; there they are read as text, for which none of it
    runs.
    """
    if sys.version_info < (3, 14):
        found: Any = function.__annotations__
        return found if type(found) is dict else {}
    try:
        library: Any = importlib.import_module("annotationlib")
        return dict(library.get_annotations(function, format=library.Format.STRING))
    except Exception:  # noqa: BLE001 - then without them
        return {}


def _parameter(name: str, annotations: dict[str, Any], values: dict[str, Any]) -> str:
    annotation, default = annotations.get(name, MISSING), values.get(name, MISSING)
    text = name if annotation is MISSING else f"{name}: {_annotation(annotation)}"
    if default is MISSING:
        return text
    return f"{text}={short_text(default, 60)}" if annotation is MISSING else f"{text} = {short_text(default, 60)}"


def _annotation(value: Any) -> str:
    if type(value) is str:
        return value[:100]
    if is_class(value):
        return name_of(value)
    # Classes of `typing` and `types` are not user code, but their content may be.
    origin = class_namespace(type(value)).get("__module__", "")
    return name_of(mro_of(type(value))[0]) if type(origin) is str and origin != "typing" else "…"
