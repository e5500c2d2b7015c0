"""HTML as text to read: blocks on lines of their own, lists with dashes, tables in aligned columns. Imported on first use.

It is one pass over a bounded input, without `html.parser`, which takes quadratic time for tags that never end. Nothing
is loaded: it runs where the user's code runs.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Optional

_MAX_HTML_CHARS = 524_288
_MAX_ROWS = 2_000
_MAX_CELLS = 20_000
# A longer cell does not widen its column.
_MAX_PADDED_CHARS = 60

_SILENT = frozenset({"script", "style", "head", "template", "noscript", "svg", "math"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer"}
    | {"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table"}
    | {"ul"}
)
_MEDIA = frozenset({"audio", "video", "iframe", "embed", "object", "canvas"})
_SPACE = re.compile(r"\s+")
_TAG_NAME = re.compile(r"/?[a-zA-Z][a-zA-Z0-9:-]*")
_MAX_TAG_CHARS = 8_192
# A `>` in a quoted attribute does not end the tag; of one with more, the rest is read as text.
_MAX_QUOTED_ENDS = 8


def html_text(html: str) -> str:
    """The readable text of a page or fragment, without trailing space. Empty if there is none."""
    reader = _Reader()
    _tokenize(html[:_MAX_HTML_CHARS], reader)
    return reader.text()


def _tokenize(html: str, reader: _Reader) -> None:
    """Passes texts and tags on. Each step goes forward, so the time is linear."""
    at = 0
    while at < len(html):
        start = html.find("<", at)
        if start == -1:
            break
        reader.on_text(html[at:start])
        if html.startswith("<!--", start):
            end = html.find("-->", start)
            at = len(html) if end == -1 else end + 3
            continue
        name = _TAG_NAME.match(html, start + 1)
        if name is None and html[start + 1 : start + 2] not in ("!", "?"):
            reader.on_text("<")
            at = start + 1
            continue
        end = _tag_end(html, start)
        if end == -1:
            at = start
            break
        at = end + 1
        if name is None:
            continue
        tag = name.group().lower()
        reader.on_tag(tag, html[name.end() : min(end, start + _MAX_TAG_CHARS)])
        if tag in ("script", "style"):
            close = re.compile(f"</{tag}", re.IGNORECASE).search(html, at)
            at = len(html) if close is None else close.start()
    reader.on_text(html[at:])


def _tag_end(html: str, start: int) -> int:
    end = html.find(">", start)
    for _ in range(_MAX_QUOTED_ENDS):
        if end == -1 or html.count('"', start, end) % 2 == 0:
            return end
        following = html.find(">", end + 1)
        if following == -1:
            return end
        end = following
    return html.find(">", start)


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf"""\b{name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", attributes, re.IGNORECASE)
    return "" if found is None else unescape(found.group(1) or found.group(2) or found.group(3) or "").strip()


class _Table:
    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.cells = 0
        self.heads = 0

    def begin_cell(self, is_head: bool) -> None:
        """Counts the rows at the top that have head cells alone. The first cell of other rows may be a head too."""
        self.cells += 1
        rows = len(self.rows)
        if is_head and self.heads == rows - 1 and not self.rows[-1]:
            self.heads = rows
        elif not is_head and self.heads == rows:
            self.heads = rows - 1

    def lines(self) -> list[str]:
        rows = [row for row in self.rows if row]
        widths: list[int] = []
        for row in rows:
            widths.extend([0] * (len(row) - len(widths)))
            for at, cell in enumerate(row):
                if len(cell) <= _MAX_PADDED_CHARS:
                    widths[at] = max(widths[at], len(cell))
        lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        if 0 < self.heads < len(lines):
            lines.insert(self.heads, "-+-".join("-" * width for width in widths))
        return lines


class _Reader:
    """Collects lines. Inside a cell of a table the text goes to that cell; a table in a cell is part of its text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._silent: list[str] = []
        self._pre = 0
        self._lists: list[Optional[int]] = []
        self._link = ""
        self._table: Optional[_Table] = None
        self._depth = 0
        self._cell: Optional[list[str]] = None

    def text(self) -> str:
        self._end_table()
        self._break()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")

    def on_text(self, text: str) -> None:
        if text and not self._silent:
            text = unescape(text)
            self._add(text if self._pre and self._cell is None else _SPACE.sub(" ", text))

    def on_tag(self, tag: str, attributes: str) -> None:
        closes = tag.startswith("/")
        name = tag[1:] if closes else tag
        if self._silent:
            if name == self._silent[-1]:
                self._silent.pop() if closes else self._silent.append(name)
        elif closes:
            self._end(name)
        elif name in _SILENT:
            if not attributes.endswith("/"):
                self._silent.append(name)
        else:
            self._begin(name, attributes)

    def _begin(self, tag: str, attributes: str) -> None:
        if tag in ("table", "tr", "td", "th"):
            self._begin_in_table(tag)
        elif tag == "br":
            self._add(" " if self._cell is not None else "\n")
        elif tag == "hr":
            self._break()
            self._lines.append("---")
        elif tag == "img" or tag in _MEDIA:
            what = _attribute(attributes, "alt") if tag == "img" else _attribute(attributes, "src") or _attribute(attributes, "data")
            self._add(f"[{'image' if tag == 'img' else tag}{': ' + what[:500] if what and not what.startswith('data:') else ''}]")
        elif tag == "a":
            self._link = _attribute(attributes, "href")
        elif tag in _BLOCKS:
            self._begin_block(tag)

    def _end(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._end_cell()
        elif tag == "table":
            self._depth -= 1
            if self._depth <= 0:
                self._end_table()
        elif tag == "a":
            link, self._link = self._link, ""
            said = "".join((self._line if self._cell is None else self._cell)[-1:]).strip()
            if link.startswith(("http://", "https://")) and link != said:
                self._add(f" ({link[:500]})")
        elif tag in _BLOCKS:
            self._end_block()
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            elif tag == "pre":
                self._pre = max(0, self._pre - 1)

    def _add(self, text: str) -> None:
        if self._cell is not None:
            self._cell.append(text)
            return
        if self._table is not None:
            return  # between the cells of a table
        first, *more = text.split("\n")
        self._line.append(first)
        for line in more:
            self._break(keep_empty=True)
            self._line.append(line)

    def _break(self, keep_empty: bool = False) -> None:
        """Ends the line."""
        line = "".join(self._line)
        self._line.clear()
        line = line.rstrip() if self._pre else _SPACE.sub(" ", line).strip() if not self._lists else line.rstrip()
        if line or keep_empty:
            self._lines.append(line)

    def _begin_block(self, tag: str) -> None:
        if self._cell is not None:
            self._cell.append(" ")
            return
        self._break()
        if tag in ("ul", "ol"):
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "pre":
            self._pre += 1
        elif tag == "li":
            number = self._lists[-1] if self._lists else None
            if number is not None:
                self._lists[-1] = number + 1
            self._line.append("  " * min(10, max(0, len(self._lists) - 1)) + (f"{number}. " if number is not None else "- "))
        elif len(tag) == 2 and tag[0] == "h":
            self._gap()
            self._line.append("#" * int(tag[1]) + " ")
        elif tag == "p":
            self._gap()

    def _end_block(self) -> None:
        if self._cell is not None:
            self._cell.append(" ")
            return
        self._break()

    def _gap(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def _begin_in_table(self, tag: str) -> None:
        if tag == "table":
            self._depth += 1
            if self._table is None:
                self._break()
                self._table = _Table()
        elif self._table is None or self._depth > 1:
            self._add(" ")
        elif tag == "tr":
            self._end_cell()
            if len(self._table.rows) < _MAX_ROWS:
                self._table.rows.append([])
        else:
            self._end_cell()
            if self._table.cells < _MAX_CELLS and self._table.rows:
                self._cell = []
                self._table.begin_cell(tag == "th")

    def _end_cell(self) -> None:
        if self._cell is not None and self._depth <= 1 and self._table is not None and self._table.rows:
            self._table.rows[-1].append(_SPACE.sub(" ", "".join(self._cell)).strip())
            self._cell = None

    def _end_table(self) -> None:
        if self._table is None:
            return
        self._depth = 0
        self._end_cell()
        self._cell = None
        table, self._table = self._table, None
        self._lines.extend(table.lines())
        self._lines.append("")
