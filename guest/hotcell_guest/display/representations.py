"""The representations of an object: the `_repr_*_` methods of notebooks, called without IPython. Imported on first use.

The methods are user code. They may raise, loop (an interrupt ends that like any other loop) or return anything; their
results are bounded before they are copied.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from typing import Any, Callable, Container, Iterable, Optional

from ..objects.static_lookup import defines_any
from ..wire.display_limits import MAX_PARTS, is_media_type
from . import figures
from .plain_text import text_of
from .screen import Part, Parts

# Results of methods by media type.
Bundle = dict[str, Any]

MAX_PART_BYTES = 8 * 1_048_576
MAX_TEXT_BYTES = 65_536
# From the least to the most informative.
_METHODS = (
    ("application/json", "_repr_json_"),
    ("text/latex", "_repr_latex_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("image/png", "_repr_png_"),
    ("image/svg+xml", "_repr_svg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/html", "_repr_html_"),
    ("application/javascript", "_repr_javascript_"),
)
_RANKS = {"text/plain": -1, **{media_type: rank for rank, (media_type, _) in enumerate(_METHODS)}}
_TAKES_OVER = "_ipython_display_"
_GIVES_ALL = "_repr_mimebundle_"


def bundle_of(item: Any, registered: Optional[Callable[[Any], Bundle]] = None) -> Optional[Bundle]:
    """All representations of an object, its text only if it gives one; None if it has displayed itself by
    `_ipython_display_`.

    `registered` returns results of functions that the user registered in IPython for its type. If an object has both
    kinds of methods, its data come first: plotly's figures have both, and would open a browser.
    """
    of_figure = figures.bundle_of(item, registered)
    if of_figure is not None:
        return of_figure
    bundle = _all_at_once(item)
    if not bundle and _shows_itself(item):
        return None
    for media_type, name in _METHODS:
        if media_type not in bundle and defines_any(type(item), (name,)):
            if media_type == "image/jpeg" and defines_any(type(item), ("_repr_png_",)):
                continue  # the same picture in lower quality
            data = _call(item, name)
            if data is not None:
                bundle[media_type] = data
    if registered is not None:
        bundle.update(registered(item))
    _add_drawing(bundle)
    return bundle


def with_text(item: Any, bundle: Bundle) -> Bundle:
    """The bundle with its `text/plain`: what the object gave, its repr, or if that says nothing, its richer content as
    text.
    """
    if isinstance(bundle.get("text/plain"), str):
        return bundle
    try:
        text = text_of(item)
    except Exception as error:  # noqa: BLE001 - the user's method
        text = f"<{type(item).__name__} whose __repr__ raised {type(error).__name__}>"
    return {"text/plain": readable_text(text, bundle), **{name: data for name, data in bundle.items() if name != "text/plain"}}


def readable_text(text: str, bundle: Bundle) -> str:
    """`text`, or the content of the bundle as text if `text` says nothing but a type."""
    if len(bundle) == 0 or len(text) > 400 or not text.startswith("<"):
        return text
    from .readable import is_bare, readable

    return (readable(bundle) if is_bare(text) else None) or text


def _add_drawing(bundle: Bundle) -> None:
    """Adds the PNG of an SVG, if the object gives none."""
    source = bundle.get("image/svg+xml")
    if not isinstance(source, str) or any(name in bundle for name in ("image/png", "image/jpeg")):
        return
    from .svg import drawn

    picture = drawn(source)
    if picture is not None:
        bundle["image/png"] = picture


def chosen(bundle: Bundle, include: Optional[Iterable[str]], exclude: Container[str]) -> Bundle:
    """Applies the `include` and `exclude` options of display()."""
    wanted = None if include is None else set(include)
    return {name: data for name, data in bundle.items() if (wanted is None or name in wanted) and name not in exclude}


def encoded(bundle: Bundle) -> Parts:
    """The bundle as bytes, the most informative type last. Invalid media types, invalid data and data that are too
    large are left out, with a note on stderr.
    """
    parts = [part for part in map(_encoded_part, list(bundle.items())[: 4 * MAX_PARTS]) if part is not None]
    parts.sort(key=lambda part: _RANKS.get(part[0], len(_METHODS)))
    return parts[:1] + parts[1:][1 - MAX_PARTS :]


def _all_at_once(item: Any) -> Bundle:
    if not defines_any(type(item), (_GIVES_ALL,)):
        return {}
    try:
        given = item._repr_mimebundle_(include=None, exclude=None)
    except NotImplementedError:
        return {}
    except Exception as error:  # noqa: BLE001 - the user's method
        complain(f"{_GIVES_ALL} of {type(item).__name__} raised", error)
        return {}
    data = _without_metadata(given)
    return {name: value for name, value in data.items() if value is not None} if isinstance(data, dict) else {}


def _shows_itself(item: Any) -> bool:
    if not defines_any(type(item), (_TAKES_OVER,)):
        return False
    try:
        item._ipython_display_()
    except NotImplementedError:
        return False
    except Exception as error:  # noqa: BLE001 - the user's method
        complain(f"{_TAKES_OVER} of {type(item).__name__} raised", error)
        return False
    return True


def _call(item: Any, name: str) -> Any:
    try:
        method = getattr(item, name, None)
        return _without_metadata(method()) if callable(method) else None
    except NotImplementedError:
        return None
    except Exception as error:  # noqa: BLE001 - the user's method
        complain(f"{name} of {type(item).__name__} raised", error)
        return None


def _without_metadata(given: Any) -> Any:
    return given[0] if isinstance(given, tuple) and len(given) == 2 else given


def _encoded_part(item: tuple[Any, Any]) -> Optional[Part]:
    name, data = item
    media_type = name.lower() if isinstance(name, str) else None
    if media_type is None or not is_media_type(media_type):
        return None
    try:
        content = _in_bytes(media_type, data)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        complain(f"{media_type} of a display was left out:", error)
        return None
    return (media_type, content)


def _in_bytes(media_type: str, data: Any) -> bytes:
    if isinstance(data, (bytes, bytearray, memoryview)):
        view = memoryview(data)
        _check_size(view.nbytes)
        return view.tobytes()
    if isinstance(data, str):
        # Called on the builtin class: a user's subclass may override these methods.
        if media_type == "text/plain":
            return cut_text(data)[0].encode("utf-8", "backslashreplace")
        _check_size(str.__len__(data))
        text = str.encode(data, "utf-8", "backslashreplace")
        return _from_base64(text) if _is_binary(media_type) else _checked(text)
    if media_type.endswith("json"):
        return _json(data)
    raise TypeError(f"it is of type {type(data).__name__}")


def cut_text(text: str) -> tuple[str, bool]:
    """Truncates text to the maximum size of a value, and returns whether it was truncated."""
    data = str.__getitem__(text, slice(0, MAX_TEXT_BYTES)).encode("utf-8", "backslashreplace")
    cut = str.__len__(text) > MAX_TEXT_BYTES or len(data) > MAX_TEXT_BYTES
    return data[:MAX_TEXT_BYTES].decode("utf-8", "ignore"), cut


def _is_binary(media_type: str) -> bool:
    return media_type == "application/pdf" or (media_type.startswith(("image/", "audio/", "video/")) and media_type != "image/svg+xml")


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError("it is neither bytes nor base64") from error


def _json(data: Any) -> bytes:
    pieces, size = [], 0
    for piece in json.JSONEncoder(ensure_ascii=False).iterencode(data):
        size += len(piece)
        _check_size(size)
        pieces.append(piece)
    return _checked("".join(pieces).encode("utf-8", "backslashreplace"))


def _checked(data: bytes) -> bytes:
    _check_size(len(data))
    return data


def _check_size(size: int) -> None:
    if size > MAX_PART_BYTES:
        raise ValueError(f"it has more than {MAX_PART_BYTES} bytes")


def complain(what: str, error: Exception) -> None:
    try:
        text = f"{type(error).__name__}: {error}" if what.endswith("raised") else str(error)
    except Exception:  # noqa: BLE001 - the user's __str__
        text = type(error).__name__
    sys.stderr.write(f"{what} {text[:500]}\n")
