"""The guest in a container: its modules come from memory, under file names below one folder, by which `call_stack.py` knows them.

When they can be imported, one line says so, with what the driver must know of the inside; the channel begins after that line. Until the
version is checked, nothing here may need Python 3.9.
"""

import importlib.abc
import importlib.util
import json
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

    def __init__(self, sources: Dict[str, str], programs: Dict[str, Tuple[int, int]], blob: bytes) -> None:
        self._sources = sources
        self._programs = programs
        self._blob = blob

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
        return self._sources[self._known(fullname)]

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self.get_source(fullname), ROOT + self._known(fullname), "exec", dont_inherit=True)
        return code

    def get_data(self, path: str) -> bytes:
        """A program of a kernel that is not Python's. Most sessions need none: it stays deflated until then."""
        place = self._programs.get(path[len(ROOT) :])
        if place is None:
            raise FileNotFoundError(2, "the guest came without " + path)
        start, length = place
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
            if place in self._sources:
                return place
        return None


def serve(index: bytes, blob: bytes) -> None:
    """`index` is JSON: `sources`, path and text of each module, and `programs`, path and place in `blob` of each other file."""
    files = json.loads(index)
    sys.meta_path.insert(0, FromMemory(files["sources"], files["programs"], blob))
    from hotcell_guest.__main__ import main
    from hotcell_guest.start import sandbox  # noqa: F401 - what cannot be imported must fail before the line below

    uname = os.uname()
    ready = {"hotcell": 1, "path": os.environ.get("PATH", ""), "machine": uname.machine, "kernel": uname.release}
    os.write(1, json.dumps(ready).encode() + b"\n")
    main(["sandbox", "--channel", "stdio", *sys.argv[1:]])
