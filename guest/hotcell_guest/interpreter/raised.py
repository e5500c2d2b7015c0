"""An exception for the reader who must fix the code: the place, the line, the values and a hint.

Imported with the first exception. User code makes the text of an exception, and may raise, loop or return a gigabyte.
"""

from __future__ import annotations

from typing import Any

from ..system.bounded_text import bounded_lines, cut, weight
from . import call_stack, hints
from .call_stack import Call, Entry, Omitted, Repeats
from .failing_names import names_in
from .source_lines import excerpt

Outcome = dict[str, Any]

MAX_TRACEBACK_BYTES = 32_768
# The host allows 500 UTF-16 code units, and a character may take two.
MAX_NAME_CHARS = 250
# In the traceback. The whole message, up to the larger limit, is for programs.
_SHOWN_MESSAGE_BYTES = 4_096
MAX_MESSAGE_BYTES = 65_536
_MAX_FRAMES_BYTES = 8_192
_MAX_FRAMES = 40
_MAX_CHAIN = 6
_MAX_GROUPED = 5
_DEEPEST_GROUP = 3
_AROUND = 2
_FULLY_SHOWN = 4

_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"


def outcome_of(error: BaseException, with_names: bool) -> Outcome:
    """The outcome `raised`. With `with_names` the traceback also shows the names and short values where it failed."""
    outcome: Outcome = {
        "kind": "raised",
        "name": type(error).__name__[:MAX_NAME_CHARS],
        "message": text_of(error),
        "traceback": lines_of(error, with_names),
        "frames": _frames(error),
    }
    hint = hints.hint_for(error)
    if hint is not None:
        outcome["hint"] = hint
    return outcome


def lines_of(error: BaseException, with_names: bool = False) -> list[str]:
    try:
        lines = _chain(error, with_names, depth=0)
    except Exception:  # noqa: BLE001 - an exception that defends itself is shown by its name
        lines = [f"{type(error).__name__}: (its traceback could not be made)"]
    return bounded_lines(lines, MAX_TRACEBACK_BYTES)


def text_of(error: BaseException) -> str:
    try:
        return str.__str__(str(error))[:MAX_MESSAGE_BYTES]
    except Exception:  # noqa: BLE001 - the user's __str__
        return "(its text could not be made)"


def _chain(error: BaseException, with_names: bool, depth: int) -> list[str]:
    """The chain of exceptions that led to this one, the first one first."""
    links: list[tuple[str, BaseException]] = []
    seen: set[int] = set()
    joint, current = "", error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        links.append((joint, current))
        if current.__cause__ is not None:
            joint, current = _CAUSE, current.__cause__
        elif current.__context__ is not None and not current.__suppress_context__:
            joint, current = _CONTEXT, current.__context__
        else:
            break
    links = [link for at, link in enumerate(links) if at == 0 or not _is_repeated(link[1], links[at - 1][1])]
    lines = [f"… {len(links) - _MAX_CHAIN} earlier exceptions left out …", ""] if len(links) > _MAX_CHAIN else []
    for joint, link in reversed(links[:_MAX_CHAIN]):
        lines.extend(_one(link, with_names and link is error, depth))
        if joint:
            lines.extend(["", joint, ""])
    return lines


def _is_repeated(error: BaseException, following: BaseException) -> bool:
    """Whether the exception that followed says the same, and this one has no line of the user: pandas raises a KeyError
    from a KeyError.
    """
    if type(error) is not type(following) or _is_group(error):
        return False
    calls = call_stack.calls_of(error.__traceback__)
    own = any(not isinstance(call, Call) or call.package is None for call in calls)
    return not own and _last_lines(error) == _last_lines(following)


def _one(error: BaseException, with_names: bool, depth: int) -> list[str]:
    calls = call_stack.calls_of(error.__traceback__)
    is_syntax = isinstance(error, SyntaxError)
    lines = ["Traceback (most recent call last):"] if calls else []
    lines.extend(_entries(call_stack.folded(calls)))
    if with_names:
        lines.extend(_names(calls))
    if is_syntax:
        lines.extend(_syntax_place(error))
    lines.extend(_last_lines(error))
    if depth < _DEEPEST_GROUP:
        lines.extend(_grouped(error, depth))
    return lines


def _entries(entries: list[Entry]) -> list[str]:
    lines: list[str] = []
    own_left = sum(isinstance(entry, Call) and entry.package is None for entry in entries)
    at = 0
    while at < len(entries):
        entry = entries[at]
        if isinstance(entry, Call) and entry.package is not None:
            run = [entry]
            while at + len(run) < len(entries) and isinstance(following := entries[at + len(run)], Call) and following.package is not None:
                run.append(following)
            lines.append(_library_line(run))
            at += len(run)
            continue
        if isinstance(entry, Call):
            lines.append(f'  File "{entry.file}", line {entry.line}, in {entry.function}')
            # More context is shown nearer to the failure.
            around = _AROUND if own_left <= _FULLY_SHOWN else 0
            own_left -= 1
            lines.extend(excerpt(entry.file, entry.line, entry.columns, around))
        else:
            lines.append(_said(entry))
        at += 1
    return lines


def _library_line(run: list[Call]) -> str:
    packages = list(dict.fromkeys(str(call.package) for call in run))
    named = packages[0] if len(packages) == 1 else f"{', '.join(packages[:3])}{' and others' if len(packages) > 3 else ''}"
    last = run[-1]
    place = f"line {last.line} of {last.file.rsplit('/', 1)[-1]}, in {last.function}"
    return f"  … {len(run)} frames in {named}, the last in {place}" if len(run) > 1 else f"  … 1 frame in {named}: {place}"


def _said(entry: Entry) -> str:
    if isinstance(entry, Repeats):
        what = "the frame above" if entry.calls == 1 else f"the {entry.calls} frames above"
        return f"  … {what}, {entry.times:,} times more"
    return f"  … {entry.calls:,} frames left out" if isinstance(entry, Omitted) else ""


def _names(calls: list[Any]) -> list[str]:
    own = [call for call in calls if isinstance(call, Call) and call.package is None]
    if not own:
        return []
    found = names_in(own[-1])
    return ["  Names there:", *(f"    {name} = {value}" for name, value in found)] if found else []


def _syntax_place(error: Any) -> list[str]:
    """A SyntaxError has its own position, which the user may have set."""
    file, line, offset, end = error.filename, error.lineno, error.offset, getattr(error, "end_offset", None)
    if not isinstance(line, int):
        return []
    columns = None
    if isinstance(offset, int) and offset > 0:
        end = end if isinstance(end, int) and end > offset else offset + 1
        columns = (offset - 1, end - 1)
    lines = [f'  File "{str(file)[:500]}", line {line}']
    shown = excerpt(str(file), line, None, _AROUND)
    text = error.text if isinstance(error.text, str) else ""
    if not shown and text:
        shown = [f"  > {line} | {text.splitlines()[0][:200] if text.splitlines() else ''}"]
    if columns is not None:
        _put_carets(shown, line, columns)
    return [*lines, *shown]


def _put_carets(shown: list[str], line: int, columns: tuple[int, int]) -> None:
    for number, text in enumerate(shown):
        if text.startswith("  >"):
            margin = text.index("|")
            begin, end = columns[0], min(columns[1], 300)
            shown.insert(number + 1, f"{' ' * margin}| {' ' * min(begin, 300)}{'^' * max(1, end - begin)}")
            return


def _last_lines(error: BaseException) -> list[str]:
    kind = type(error)
    module = kind.__module__
    name = kind.__qualname__ if module in ("__main__", "builtins") else f"{module}.{kind.__qualname__}"
    text = cut(error.msg if isinstance(error, SyntaxError) and isinstance(error.msg, str) else text_of(error), _SHOWN_MESSAGE_BYTES)
    lines = f"{name[:MAX_NAME_CHARS]}: {text}".split("\n") if text else [name[:MAX_NAME_CHARS]]
    notes = getattr(error, "__notes__", None)
    for note in notes[:20] if type(notes) is list else ():
        lines.extend(cut(note, 1_000).split("\n") if type(note) is str else [])
    return lines


def _grouped(error: BaseException, depth: int) -> list[str]:
    members = getattr(error, "exceptions", None)
    if not _is_group(error) or not isinstance(members, tuple):
        return []
    lines: list[str] = []
    for number, member in enumerate(members[:_MAX_GROUPED], start=1):
        lines.append(f"  ── {number} of {len(members)} ──")
        lines.extend(f"    {line}" for line in _chain(member, False, depth + 1))
    if len(members) > _MAX_GROUPED:
        lines.append(f"  … {len(members) - _MAX_GROUPED} more of them")
    return lines


def _is_group(error: BaseException) -> bool:
    return any(base.__name__ == "BaseExceptionGroup" for base in type(error).__mro__)


def _frames(error: BaseException) -> list[dict[str, Any]]:
    """The innermost frames, as data for programs."""
    calls = [call for call in call_stack.calls_of(error.__traceback__) if isinstance(call, Call)]
    frames: list[dict[str, Any]] = []
    cost = 0
    for call in reversed(calls[-_MAX_FRAMES:]):
        file, function = cut(call.file, 300), cut(call.function, 100)
        cost += weight([file, function]) + 50
        if cost > _MAX_FRAMES_BYTES:
            break
        frames.append({"file": file, "line": max(0, call.line), "function": function, "own": call.package is None})
    return frames[::-1]
