"""`variables.set`: creates a variable from bytes that the host sent. They are in an unnamed file; no source text is
involved.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import keyword
import mmap
import os
import unicodedata
from typing import Any, Callable

from ..objects.summaries import summaries
from ..wire.refusal import Refusal
from .answer import Asked
from .list_variables import OURS


def answer(asked: Asked) -> dict[str, Any]:
    name = checked_name(asked.head.get("name"))
    make = _MAKERS.get(str(asked.head.get("as")))
    if make is None or len(asked.fds) != 1:
        raise Refusal("bad-request", f"variables.set: `as` is one of {', '.join(_MAKERS)}")
    value = make(asked.fds[0])
    asked.namespace[name] = value
    asked.shell.bindings.accept()  # this change belongs to no execution
    (summary,) = summaries([value], asked.deadline)
    return {"name": name, **summary}


def checked_name(name: Any) -> str:
    """Normalises the name as Python's parser does: `ﬁ` and `fi` are the same name."""
    if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name):
        raise Refusal("bad-request", "variables.set: the name is not one that a variable can have")
    normal = unicodedata.normalize("NFKC", name)
    if normal in OURS or keyword.iskeyword(normal) or not normal.isidentifier():
        raise Refusal("bad-request", f"variables.set: {normal[:200]} is not a name that can be set")
    return normal


def _text(fd: int) -> str:
    """Decodes the file while reading, without a copy of its bytes in memory."""
    if os.fstat(fd).st_size == 0:
        return ""
    with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as view:
        return str(view, "utf-8")


def _bytes(fd: int) -> bytes:
    with open(fd, "rb", buffering=0, closefd=False) as file:
        return file.readall()


def _json(fd: int) -> Any:
    try:
        return json.loads(_text(fd))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _csv(fd: int) -> Any:
    return _by_pandas("read_csv", fd)


def _parquet(fd: int) -> Any:
    if all(importlib.util.find_spec(engine) is None for engine in ("pyarrow", "fastparquet")):
        raise Refusal("no-package", "variables.set: parquet needs the package pyarrow, which is not installed in this sandbox")
    return _by_pandas("read_parquet", fd)


def _by_pandas(reader: str, fd: int) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise Refusal("no-package", "variables.set: this needs the package pandas, which is not installed in this sandbox") from None
    with open(fd, "rb", closefd=False) as file:
        return getattr(pandas, reader)(file)


_MAKERS: dict[str, Callable[[int], Any]] = {"text": _text, "bytes": _bytes, "json": _json, "csv": _csv, "parquet": _parquet}
