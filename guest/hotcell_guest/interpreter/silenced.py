"""Whether the last expression of a cell ends with a semicolon, which hides its value, as in IPython."""

from __future__ import annotations

import ast
import re

# The tree ends before the brackets around an expression.
_SEMICOLON = re.compile(r"[\s)]*;")


def is_silenced(tree: ast.Module, source: str) -> bool:
    """A comment may follow the semicolon."""
    last = tree.body[-1] if tree.body else None
    if ";" not in source or not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return False
    lines = source.split("\n")[last.end_lineno - 1 :]
    if not lines:
        return False
    rest = lines[0].encode("utf-8", "replace")[last.end_col_offset :].decode("utf-8", "replace")
    return _SEMICOLON.match("\n".join([rest, *lines[1:]])) is not None
