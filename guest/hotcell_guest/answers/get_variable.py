"""`variables.get`: one variable, or the value of an expression, with a page of its content."""

from __future__ import annotations

import base64
import itertools
import json
import keyword
from collections import deque
from typing import Any, Callable, Optional

from ..objects import tables
from ..objects.summaries import SUMMARY_CHARS, length_of, sized_base, summaries, texts
from ..wire.refusal import Refusal
from .answer import Asked

_MAX_PAGE_BYTES = 900_000
_MAX_ITEMS = 1_000
_MAX_CHARS = 200_000
_MAX_CELLS = 20_000
_ITEM_CHARS = 200
_REPR_CHARS = 20_000

Page = dict[str, Any]


def answer(asked: Asked) -> Page:
    value = _value_of(asked)
    share = 1
    while True:
        found = _looked_at(asked, value, share)
        if len(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")) <= _MAX_PAGE_BYTES:
            return found
        share *= 2


def _looked_at(asked: Asked, value: Any, share: int) -> Page:
    """Summary and page. `share` divides the requested size if the whole page would not fit into an answer."""
    try:
        page = _page(asked, value, share)
    except tables.NotPlain:
        page = None
    (summary,) = summaries([value], asked.deadline, SUMMARY_CHARS if page is not None else _REPR_CHARS // share)
    if page is None:
        text = summary["summary"]
        page = {"kind": "repr", "text": text, "truncated": text.endswith("…")}
        summary["summary"] = text[:SUMMARY_CHARS]
    return {**summary, "page": page}


def _value_of(asked: Asked) -> Any:
    """Looks up a name; anything else is evaluated, as in an execution."""
    source = asked.text.strip()
    if source.isidentifier() and not keyword.iskeyword(source):
        if source in asked.namespace:
            return asked.namespace[source]
        raise Refusal("no-variable", f"there is no variable {source[:200]}")
    return asked.shell.evaluate(source)


def _page(asked: Asked, value: Any, share: int) -> Optional[Page]:
    """None for a value without parts."""
    offset = asked.number("offset", 0, 2**53)
    base = sized_base(value)
    if base in _PAGES:
        page, most, default = _PAGES[base]
        limit = max(1, asked.number("limit", default, most) // share)
        return {**page(asked, value, base, slice(offset, offset + limit)), "offset": offset, "total": length_of(value)}
    if tables.has_pages(value):
        columns = max(1, asked.number("columnLimit", 50, _MAX_ITEMS))
        rows = max(1, min(asked.number("limit", 100, _MAX_ITEMS), _MAX_CELLS // columns) // share)
        return tables.page(value, offset, rows, column_offset=asked.number("columnOffset", 0, 2**53), columns=columns)
    return None


def _text(_asked: Asked, value: Any, _base: Any, part: slice) -> Page:
    return {"kind": "text", "text": str.__getitem__(value, part)}


def _bytes(_asked: Asked, value: Any, base: Any, part: slice) -> Page:
    return {"kind": "bytes", "base64": base64.b64encode(base.__getitem__(value, part)).decode("ascii")}


def _items(asked: Asked, value: Any, base: Any, part: slice) -> Page:
    """Uses the builtin's own methods, even if the value's class overrides them."""
    if base in (list, tuple):
        items = list(base.__getitem__(value, part))
    else:
        items = list(itertools.islice(base.__iter__(value), part.start, part.stop))
    return {"kind": "items", "items": texts(items, asked.deadline, _ITEM_CHARS)}


def _entries(asked: Asked, value: Any, _base: Any, part: slice) -> Page:
    entries = list(itertools.islice(dict.items(value), part.start, part.stop))
    shown = texts([item for pair in entries for item in pair], asked.deadline, _ITEM_CHARS)
    return {"kind": "entries", "entries": [{"key": key, "value": item} for key, item in zip(shown[::2], shown[1::2])]}


_PageMaker = Callable[[Asked, Any, Any, slice], Page]
_PAGES: dict[Any, tuple[_PageMaker, int, int]] = {
    str: (_text, _MAX_CHARS, 10_000),
    bytes: (_bytes, _MAX_CHARS, 10_000),
    bytearray: (_bytes, _MAX_CHARS, 10_000),
    dict: (_entries, _MAX_ITEMS, 100),
    **{kind: (_items, _MAX_ITEMS, 100) for kind in (list, tuple, set, frozenset, deque)},
}
