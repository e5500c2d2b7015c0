"""The syntactic position of the cursor in Python code: in a string, a comment, an import or a call; and the expression
that ends there.
"""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass
from typing import Any, Optional

# Code further back says little about the cursor; it is not read.
_MOST_CHARS = 65_536
# Comments and strings, also unterminated ones. The parts of a repetition never match the same character, so matching
# takes linear time.
_LEXEMES = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<prefix>\b[rRbBuUfFtT]{1,2})?(?:
          (?P<q3>\"\"\"|''')(?P<long>(?:[^\\"']|\\.|(?!(?P=q3))["'])*)(?P<end3>(?P=q3)|\\?\Z)
        | (?P<q1>["'])(?P<short>(?:[^\\"'\n]|\\.|(?!(?P=q1))["'])*)(?P<end1>(?P=q1)|\\?\Z|(?=\n)))""",
    re.VERBOSE | re.DOTALL,
)
_PREFIX = re.compile(r"[^\W\d]\w*\Z|\Z")
_IMPORT = re.compile(r"^\s*import\s+(?:.*,\s*)?(?P<module>[\w.]*)\Z")
_FROM = re.compile(r"^\s*from\s+(?P<module>[\w.]*)\Z")
_FROM_IMPORT = re.compile(r"^\s*from\s+(?P<module>[\w.]+)\s+import\s*\(?(?:[^()#]*,)?\s*(?P<name>\w*)\Z")
_STATEMENT_START = re.compile(r"(?:.*[\n;])?", re.DOTALL)


@dataclass(frozen=True)
class Position:
    """`blanked` is the code up to the cursor with the content of strings and comments blanked, so that brackets in them
    do not count.
    """

    before: str
    blanked: str
    in_comment: bool
    string: Optional[str]
    """The text of the string that the cursor is in."""
    string_prefix: str
    string_start: int
    """The start of that string, including its prefix and quote."""

    @property
    def prefix(self) -> str:
        """The part of a name before the cursor."""
        match = _PREFIX.search(self.before[-500:])
        return match.group() if match else ""

    @property
    def statement(self) -> str:
        match = _STATEMENT_START.match(self.blanked)
        return self.before[match.end() if match else 0 :]


def position_at(code: str, cursor: int) -> Position:
    before = code[:cursor]
    if len(before) > _MOST_CHARS:
        before = before[-_MOST_CHARS:]
        before = before[before.find("\n") + 1 :]
    pieces, last = [], 0
    for match in _LEXEMES.finditer(before):
        ends_open = match.end() == len(before)
        if match.lastgroup == "comment" or match.group("comment") is not None:
            if ends_open:
                return Position(before, before[: match.start()], True, None, "", -1)
            pieces += [before[last : match.start()], " " * len(match.group())]
        else:
            is_long = match.group("q3") is not None
            text = match.group("long" if is_long else "short")
            if ends_open and match.group("end3" if is_long else "end1") in ("", "\\"):
                blanked = "".join([*pieces, before[last : match.start()]])
                return Position(before, blanked, False, text, (match.group("prefix") or "").lower(), match.start())
            # The quotes are kept, so that `"".` and `x[""]` are recognised.
            pieces += [before[last : match.start()], '"', "_" * (len(match.group()) - 2), '"']
        last = match.end()
    return Position(before, "".join([*pieces, before[last:]]), False, None, "", -1)


def chain_before(position: Position, end: int) -> Optional[ast.expr]:
    """The expression of names, attributes, constant subscripts and empty calls that ends at `end`; None if there is
    none.
    """
    blanked = position.blanked[:end]
    start = _chain_start(blanked)
    if start is None:
        return None
    try:
        tree = ast.parse(position.before[start:end].strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree.body


def _chain_start(blanked: str) -> Optional[int]:
    """Walks back over names, dots and balanced brackets, at most a few hundred characters."""
    index = len(blanked.rstrip())
    least = max(0, index - 1_000)
    start: Optional[int] = None
    while index > least:
        last = blanked[index - 1]
        if last in ")]}":
            opened = _opening(blanked, index - 1, least)
            if opened is None:
                return None
            index = start = opened
        elif last == '"':
            opened = blanked.rfind('"', least, index - 1)
            return opened if opened >= 0 else None
        elif last.isalnum() or last == "_":
            name_start = index
            while name_start > least and (blanked[name_start - 1].isalnum() or blanked[name_start - 1] == "_"):
                name_start -= 1
            if keyword.iskeyword(blanked[name_start:index]):
                return start if start != name_start else None
            index = start = name_start
        else:
            return start
        rest = blanked[:index].rstrip(" \t")
        if rest.endswith("."):
            index = len(rest[:-1].rstrip(" \t"))
        elif index < len(blanked) and blanked[index] in "([" and rest and (rest[-1].isalnum() or rest[-1] in '_)]}"'):
            index = len(rest)
        else:
            return start
    return start


def _opening(blanked: str, closing: int, least: int) -> Optional[int]:
    depth = 0
    for index in range(closing, least - 1, -1):
        if blanked[index] in ")]}":
            depth += 1
        elif blanked[index] in "([{":
            depth -= 1
            if depth == 0:
                return index
    return None


def call_around(position: Position) -> Optional[int]:
    """The position of the opening bracket of the call around the cursor."""
    depth = 0
    blanked = position.blanked
    for index in range(len(blanked) - 1, max(-1, len(blanked) - 5_000), -1):
        if blanked[index] in ")]}":
            depth += 1
        elif blanked[index] in "([{":
            if depth == 0:
                before = blanked[:index].rstrip(" \t")
                is_call = blanked[index] == "(" and before and (before[-1].isalnum() or before[-1] in "_)]")
                return index if is_call else None
            depth -= 1
    return None


def import_at(position: Position) -> Optional[tuple[str, Any]]:
    """`("module", "a.b")` if the cursor is in a module name, `("name", ("a.b", "n"))` if it is in a name imported from
    it.
    """
    statement = position.statement
    for pattern in (_IMPORT, _FROM):
        match = pattern.match(statement)
        if match:
            return "module", match.group("module")
    match = _FROM_IMPORT.match(statement)
    return ("name", (match.group("module"), match.group("name"))) if match else None
