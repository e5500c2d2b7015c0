"""Hints for an exception, only if they are certain: a similar name, a package, a path.

Each kind of exception has one function. They run no user code except attributes of the exception itself.
"""

from __future__ import annotations

import builtins
import difflib
import errno
import os
import re
import socket
import subprocess
import sys
from collections import deque
from itertools import islice
from typing import Any, Callable, Iterable, Optional

from ..objects.known_types import column_names, is_frame
from ..objects.static_lookup import places_of
from ..system.bounded_text import cut
from ..system.site_layers import may_install
from . import call_stack, importable
from .call_stack import Call, local_names
from .installers import InstallError, installer_in
from .package_names import ALIASES, ALTERNATIVES, PACKAGES, STANDARD, WELL_KNOWN

MAX_HINT_BYTES = 1_000
_MAX_CANDIDATES = 2_000
_MAX_FILES = 2_000
_MAX_FOLDERS = 200


def hint_for(error: BaseException) -> Optional[str]:
    """One or two sentences, or None."""
    try:
        for kind, find in _HINTS:
            if isinstance(error, kind):
                hint = find(error)
                return None if hint is None else cut(hint, MAX_HINT_BYTES)
        return _unreached() if _is_unreached(error) else None
    except Exception:  # noqa: BLE001 - an exception may be the user's own and have anything for attributes
        pass
    return None


def _missing_module(error: Any) -> Optional[str]:
    name = error.name
    if type(name) is not str or not name:
        return None
    top = name.partition(".")[0]
    if top in sys.modules or top in importable.top_level():
        return None  # the package is there; only a submodule is missing
    package = PACKAGES.get(top, top)
    near = [] if top in PACKAGES or top in WELL_KNOWN else _nearest(top, importable.top_level(), cutoff=0.8)
    if near:
        return f"There is no module {top!r} here, but there is {near[0]!r}."
    if top not in PACKAGES and top not in WELL_KNOWN and top not in ALTERNATIVES and top.lower() not in STANDARD:
        return _unknown_module(top)
    what = f"The package {top!r}" if package == top else f"{top!r} comes with the package {package!r}, which"
    if package.lower() in STANDARD:
        return (
            f"{what} is not in this sandbox. It is one of the standard packages: the user can add them with "
            "`hotcell setup process`, or build an image that has them with `hotcell setup docker`."
        )
    instead = ALTERNATIVES.get(top)
    use = "" if instead is None else f"Use {instead} instead. "
    if may_install():
        return f"{what} is not in this sandbox. {use}`%pip install {package}` installs it."
    return f"{what} is not in this sandbox, and there is no network to download it. {use}{_HOW_TO_ADD}"


def _unknown_module(name: str) -> str:
    """It may be a file of the user. SECURITY: it does not advise to install that very name, which a stranger may have published."""
    how = "`%pip install NAME` installs a package by its name in the package index, which may be another." if may_install() else _HOW_TO_ADD
    return f"There is no module {name!r} in this sandbox. If it is a file of yours, put it into the workspace first. {how}"


_HOW_TO_ADD = "`pip list` shows what is installed; the user can add packages as docs/guides/packages.md of Hotcell describes."


def _failed_import(error: Any) -> Optional[str]:
    """A package that says in its own words that an optional package is missing."""
    part = _missing_part(error)
    if part is not None:
        return part
    for inner in (error.__cause__, error.__context__):
        if isinstance(inner, ModuleNotFoundError):
            return _missing_module(inner)
    return None


MISSING_PROGRAM = "That program is not in this sandbox. The user can add it as docs/guides/packages.md of Hotcell describes."


def _failed_command(error: Any) -> Optional[str]:
    return MISSING_PROGRAM if error.returncode == 127 else _failed_install(error)


def _failed_install(error: Any) -> Optional[str]:
    command = error.cmd if isinstance(error, subprocess.CalledProcessError) else None
    if command is not None and not installer_in(command):
        return None
    if may_install():
        return (
            "The installer's output says why. `pip install NAME`, `uv pip install NAME` and `npm install NAME` work here, with "
            "packages from the registries of the host. Other installers, and URLs instead of names, do not."
        )
    return (
        "This session may not install packages, and has no network for an installer. The operator can allow it, with a token made with "
        f"--install. {_HOW_TO_ADD}"
    )


def _missing_key(error: Any) -> Optional[str]:
    key = error.args[0] if error.args else None
    if type(key) is not str:
        return None
    selves = list(_selves(error))
    frame = next((value for value in [*selves, *map(_grouped, selves)] if is_frame(value)), None)
    if frame is None:
        return None
    key = key[len(_OF_GROUPS) :] if key.startswith(_OF_GROUPS) else key
    columns = column_names(frame)
    if key in columns:
        return None
    near = _nearest(key, columns)
    listed = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
    return f"{key!r} is not a column. " + (f"Near it: {', '.join(map(repr, near))}. " if near else "") + f"The columns are {listed}."


_OF_GROUPS = "Column not found: "


def _grouped(value: Any) -> Any:
    """The frame of a groupby."""
    kind = type(value)
    module, name = (type.__getattribute__(kind, part) for part in ("__module__", "__name__"))
    if not (str(module).startswith("pandas.") and str(name).endswith("GroupBy")):
        return None
    return object.__getattribute__(value, "__dict__").get("obj")


def _missing_name(error: Any) -> Optional[str]:
    found = re.search(r"'(\w+)'", str(error.args[0])) if error.args else None
    name = getattr(error, "name", None) or (found.group(1) if found else None)
    if type(name) is not str:
        return None
    if name in ALIASES:
        return f"Did you forget `{ALIASES[name]}`?"
    if _NUMBERED.fullmatch(name):
        return "Values are not kept by number here: `_` is the last one. Assign a value to a variable to use it again."
    if name in _MAGICS:
        return f"A magic begins with %: `%{name}`."
    frame = _innermost(error)
    known: set[str] = set(dir(builtins))
    if frame is not None:
        known |= local_names(frame).keys() | {key for key in frame.f_globals if type(key) is str}
    near = _nearest(name, known, cutoff=0.75)
    if near:
        return f"Did you mean {near[0]!r}?"
    if name in getattr(sys, "stdlib_module_names", ()):
        return f"Did you forget `import {name}`?"
    return None


# What IPython keeps of every execution. Here it would keep every frame that was ever shown in memory.
_NUMBERED = re.compile(r"__|___|_\d{1,9}|_oh|Out")
_MAGICS = frozenset(["ls", "cd", "pwd", "who", "whos", "history", "lsmagic"])


def _invalid_syntax(error: Any) -> Optional[str]:
    line = error.text if type(error.text) is str else ""
    if not _LIKE_COMMAND.match(line):
        return None
    return f"A shell command begins with !: `!{cut(line.strip(), 100)}`."


_LIKE_COMMAND = re.compile(
    r"\s*(pip3?|uv|npm|npx|conda|apt|apt-get|git|ls|cd|cat|mkdir|rm|cp|mv|curl|wget|python3?|echo|head|tail|grep)\s+[\w./-]"
)


def _missing_attribute(error: Any) -> Optional[str]:
    name, owner = getattr(error, "name", None), getattr(error, "obj", None)
    if type(name) is not str:
        # Before Python 3.10 only the message has the name, and only for modules it names the object.
        said = re.fullmatch(r"module '([\w.]+)' has no attribute '(\w+)'", str(error.args[0])) if error.args else None
        if said is None or said.group(1) not in sys.modules:
            return None
        owner, name = sys.modules[said.group(1)], said.group(2)
    if owner is None:
        return None
    known = {key for place in places_of(owner) for key in list(place)[:_MAX_CANDIDATES] if type(key) is str}
    known |= set(column_names(owner))
    near = _nearest(name, known, cutoff=0.75)
    return f"Did you mean {near[0]!r}?" if near else None


def _missing_file(error: Any) -> Optional[str]:
    path = error.filename
    if type(path) is not str or not path:
        return None
    if any(call.package == "subprocess" for call in _calls(error)) and os.sep not in path:
        return f"There is no program {path!r} in this sandbox. The user can add it as docs/guides/packages.md of Hotcell describes."
    here, base = os.getcwd(), os.path.basename(path.replace("\\", "/"))
    files = _files_below(here)
    same = [file for file in files if os.path.basename(file).lower() == base.lower()]
    near = same or [file for file in files if os.path.basename(file) in _nearest(base, map(os.path.basename, files), cutoff=0.7)]
    if near:
        return f"The workspace has {', '.join(map(repr, near[:3]))}."
    if re.match(r"([A-Za-z]:\\|/(?!tmp/|workspace/))", path) and not path.startswith(here):
        return "A sandbox sees its workspace and the folders that were mounted, and no other files of the machine."
    return None


def _system(error: Any) -> Optional[str]:
    if error.errno == errno.EROFS:
        return f"That path is read-only in a sandbox. Write below {os.getcwd()} or /tmp."
    if _REFUSED_BY_PROXY.search(str(error.args[-1])[:500] if error.args else ""):
        return "The network rules of this session do not allow that host. Open it with --network, or set_network if available."
    return _unreached() if _is_unreached(error) else None


_REFUSED_BY_PROXY = re.compile(r"Tunnel connection failed: 403|Cannot connect to proxy")


def _is_unreached(error: Any) -> bool:
    """Whether a name was not resolved, or a host had no route. Libraries wrap such an error: urllib as a reason, requests
    and httpx as a cause or context.
    """
    seen: list[Any] = []
    ahead = [error]
    while ahead and len(seen) < _MAX_WRAPPED:
        inner = ahead.pop()
        if not isinstance(inner, BaseException) or any(inner is one for one in seen):
            continue
        seen.append(inner)
        if isinstance(inner, socket.gaierror):
            return True
        if isinstance(inner, OSError) and inner.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return True
        ahead += [getattr(inner, "reason", None), inner.__context__, inner.__cause__]
    return False


_MAX_WRAPPED = 20


def _unreached() -> str:
    """Advice where a program made a connection of its own, or resolved a name."""
    proxy = os.environ.get("HOTCELL_PROXY")
    if not proxy:
        return "This session has no network. Copy data in, or open hosts (--network, or set_network if available)."
    return (
        "A session reaches other hosts only through its proxy, and resolves no names itself. Tell the program to use the proxy: "
        f"http://{proxy} (HTTPS_PROXY), or SOCKS5 at {proxy} with names resolved there (socks5h)."
    )


def _nearest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Up to three names, the nearest first; case and surrounding spaces do not count."""
    by_form: dict[str, str] = {}
    for candidate, _ in zip(candidates, range(_MAX_CANDIDATES)):
        if candidate != word and len(candidate) <= 200 and (word.startswith("_") or not candidate.startswith("_")):
            by_form.setdefault(candidate.strip().lower(), candidate)
    if len(word) > 200:
        return []
    return [by_form[form] for form in difflib.get_close_matches(word.strip().lower(), list(by_form), n=3, cutoff=cutoff)]


def _files_below(root: str) -> list[str]:
    """Files of the workspace, at most a few thousand, nearest first, so that a folder with millions costs no more."""
    found: list[str] = []
    folders = deque([root])
    for _ in range(_MAX_FOLDERS):
        if not folders or len(found) >= _MAX_FILES:
            break
        try:
            with os.scandir(folders.popleft()) as scan:
                for entry in islice(scan, _MAX_FILES):
                    if entry.is_file():
                        found.append(os.path.relpath(entry.path, root))
                    elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        folders.append(entry.path)
        except OSError:
            continue
    return found[:_MAX_FILES]


def _calls(error: BaseException) -> list[Call]:
    return [call for call in call_stack.calls_of(error.__traceback__) if isinstance(call, Call)]


def _innermost(error: BaseException) -> Any:
    calls = _calls(error)
    return calls[-1].frame if calls else None


def _selves(error: BaseException) -> Iterable[Any]:
    """The objects whose pandas methods were running, innermost first."""
    for call in reversed(_calls(error)):
        if call.package == "pandas":
            yield local_names(call.frame).get("self")


def _missing_part(error: Any) -> Optional[str]:
    """pandas names a missing optional package in the text of an ImportError or AttributeError."""
    said = _NAMES_A_PACKAGE.search(str(error.args[0])[:1_000]) if error.args else None
    if said is None or not any(call.package == "pandas" for call in _calls(error)):
        return None
    name = said.group(1).lower()
    instead = _INSTEAD.get(name)
    return f"The package {name!r} is not in this sandbox." + (f" {instead}" if instead else "")


_NAMES_A_PACKAGE = re.compile(r"(?:requires|Missing optional dependency|`Import) '?([A-Za-z][A-Za-z0-9_]{1,40})")
_INSTEAD = {
    "jinja2": "df.style needs it; display(df) and df.to_html() show a frame without it.",
    "tabulate": "df.to_markdown() needs it; df.to_string() shows a frame without it.",
}


def _attribute_or_part(error: Any) -> Optional[str]:
    return _missing_part(error) or _missing_attribute(error)


_HINTS: tuple[tuple[type[BaseException], Callable[[Any], Optional[str]]], ...] = (
    (ModuleNotFoundError, _missing_module),
    (InstallError, _failed_install),
    (subprocess.CalledProcessError, _failed_command),
    (KeyError, _missing_key),
    (NameError, _missing_name),
    (AttributeError, _attribute_or_part),
    (ImportError, _failed_import),
    (SyntaxError, _invalid_syntax),
    (FileNotFoundError, _missing_file),
    (OSError, _system),
)
