"""The guest in a container: its modules come from memory, under file names below one folder, by which `call_stack.py` knows them.

When they can be imported, one line says so, with what the driver must know of the inside; the channel begins after that line. Until the
version is checked, nothing here may need Python 3.9.
"""

import importlib.abc
import importlib.util
import json
import marshal
import os
import sys
import zlib
from importlib.machinery import ModuleSpec
from types import CodeType
from typing import Any, Dict, Optional, Tuple

if sys.version_info < (3, 9):  # noqa: UP036 - an image may have any Python
    raise SystemExit("hotcell: the guest needs Python 3.9 or newer, and this is " + sys.version.split()[0])

ROOT = "/hotcell_guest/"


class FromMemory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the guest from the bundle. Forks find it again, a new interpreter never does.

    SECURITY: it is the first to be asked for a module of the guest, and reads no file: what a session writes is never taken for one.
    """

    def __init__(self, places: Dict[str, Tuple[int, int]], blob: bytes, code: Dict[str, bytes]) -> None:
        self._places = places
        self._blob = blob
        self._code = code

    def find_spec(self, fullname: str, _path: Any = None, _target: Any = None) -> Optional[ModuleSpec]:
        place = self._place(fullname)
        if place is None:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, origin=ROOT + place, is_package=self.is_package(fullname))
        assert spec is not None
        spec.has_location = True
        return spec

    def is_package(self, fullname: str) -> bool:
        return self._known(fullname).endswith("__init__.py")

    def get_source(self, fullname: str) -> str:
        return self._content(self._known(fullname)).decode("utf-8")

    def get_code(self, fullname: str) -> CodeType:
        place = self._known(fullname)
        compiled = self._code.get(place)
        code: CodeType = (
            marshal.loads(compiled) if compiled is not None else compile(self._content(place), ROOT + place, "exec", dont_inherit=True)
        )
        return code

    def get_data(self, path: str) -> bytes:
        """A program of a kernel that is not Python's, for `pkgutil`."""
        if path[len(ROOT) :] not in self._places:
            raise FileNotFoundError(2, "the guest came without " + path)
        return self._content(path[len(ROOT) :])

    def _content(self, path: str) -> bytes:
        """Deflated until it is asked for: most sessions need few of the files."""
        start, length = self._places[path]
        return zlib.decompress(self._blob[start : start + length], -15)

    def _known(self, fullname: str) -> str:
        place = self._place(fullname)
        if place is None:
            raise ImportError("the guest came without " + fullname, name=fullname)
        return place

    def _place(self, fullname: str) -> Optional[str]:
        package, *names = fullname.split(".")
        if package != "hotcell_guest":
            return None
        for place in ("/".join(names) + ".py", "/".join([*names, "__init__.py"])):
            if place in self._places:
                return place
        return None


def byte_code(code: bytes) -> Dict[str, bytes]:
    """Of each module, where it was compiled by a Python with the same byte code. Nothing for any other: that compiles the sources."""
    magic = importlib.util.MAGIC_NUMBER
    if not code.startswith(magic):
        return {}
    modules: Dict[str, bytes] = marshal.loads(zlib.decompress(code[len(magic) :]))
    return modules


def finds_layers() -> bool:
    """Whether every Python of the image looks for layers of packages, by a file beside its packages."""
    return any(os.path.exists(folder + "/hotcell-layers.pth") for folder in sys.path if folder.endswith("-packages"))


def serve(index: bytes, blob: bytes, code: bytes) -> None:
    """`index` is JSON, path and place in `blob` of each file. `code` is what compile_guest.py made, or empty."""
    sys.meta_path.insert(0, FromMemory(json.loads(index), blob, byte_code(code)))
    from hotcell_guest.__main__ import main
    from hotcell_guest.start import sandbox  # noqa: F401 - what cannot be imported must fail before the line below

    uname = os.uname()
    ready = {"hotcell": 1, "path": os.environ.get("PATH", ""), "machine": uname.machine, "kernel": uname.release, "layers": finds_layers()}
    os.write(1, json.dumps(ready).encode() + b"\n")
    main(["sandbox", "--channel", "stdio", *sys.argv[1:]])
