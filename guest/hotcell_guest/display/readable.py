"""The text of an object that says nothing of itself but its type: made of its richer representations. Imported on first use."""

from __future__ import annotations

import json
import re
from typing import Any, Optional

from . import svg
from .html_text import html_text

_BARE = re.compile(r"<[\w.<>]{1,300}( object)?( at 0x[0-9a-f]+)?>")
_MAX_JSON_CHARS = 65_536


def is_bare(text: str) -> bool:
    """Whether a repr is like `<IPython.core.display.HTML object>`, from which a reader learns nothing."""
    return len(text) < 400 and _BARE.fullmatch(text) is not None


def readable(bundle: dict[str, Any]) -> Optional[str]:
    """Markdown and LaTeX as they are, HTML as text, JSON indented, a description of an SVG. None if there is none of them."""
    for media_type in ("text/markdown", "text/latex"):
        if isinstance(bundle.get(media_type), str):
            return str.__str__(bundle[media_type])
    if "application/json" in bundle:
        return _json_text(bundle["application/json"])
    if isinstance(bundle.get("text/html"), str):
        return html_text(str.__str__(bundle["text/html"])) or None
    if isinstance(bundle.get(svg.MEDIA_TYPE), str):
        return svg.description(str.__str__(bundle[svg.MEDIA_TYPE]))
    return None


def _json_text(data: Any) -> Optional[str]:
    if isinstance(data, str):
        return str.__str__(data)
    text, size = [], 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(data):
            size += len(piece)
            text.append(piece)
            if size > _MAX_JSON_CHARS:
                break
    except (TypeError, ValueError, RecursionError):
        return None
    return "".join(text)
