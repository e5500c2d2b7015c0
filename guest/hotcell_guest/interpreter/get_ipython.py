"""get_ipython(), as a builtin and by `from IPython import get_ipython`: both create IPython's shell when a program
calls it.
"""

from __future__ import annotations

import builtins
import os
import sys
from types import FrameType, ModuleType
from typing import Any, Callable

from ..system.import_hooks import AfterImport

_MODULE = "IPython.core.getipython"
# Decorators of this module, such as `register_line_magic`, call get_ipython() on behalf of the program.
_ASKS_FOR_ITS_USER = "IPython.core.magic"


def install(hooks: AfterImport, main: ModuleType, existing: Callable[[], Any], make: Callable[[], Any]) -> None:
    """`existing` returns the shell of `main` or None; `make` creates it. IPython is not imported for this."""

    def get_ipython() -> Any:
        """The shell that runs this code."""
        shell = existing() or _made_by_others()
        if shell is None and _asks_for_a_program(sys._getframe(1), main):
            shell = make()
        return shell

    def take_over(module: Any) -> None:
        package: Any = sys.modules.get("IPython")
        original = module.__dict__.get("get_ipython")
        module.get_ipython = get_ipython
        # A preloaded package has the name already, unless this version of IPython loads it lazily.
        if package is not None and original is not None and package.__dict__.get("get_ipython") is original:
            package.get_ipython = get_ipython

    names: Any = builtins
    names.get_ipython = get_ipython
    hooks.add(_MODULE, take_over)


def _made_by_others() -> Any:
    """A shell that the program created itself, by `InteractiveShell.instance()`."""
    module: Any = sys.modules.get("IPython.core.interactiveshell")
    kind = getattr(module, "InteractiveShell", None)
    return kind.instance() if kind is not None and kind.initialized() else None


def _asks_for_a_program(frame: FrameType, main: ModuleType) -> bool:
    """Whether the program itself asks. A library that only checks for a shell (pandas, tqdm) must not create one."""
    if frame.f_globals is main.__dict__ or frame.f_globals.get("__name__") == _ASKS_FOR_ITS_USER:
        return True
    from .call_stack import package_of

    file = frame.f_code.co_filename
    try:
        folder = os.getcwd()
    except OSError:
        return False  # the program has removed its current folder
    return file.startswith(folder + os.sep) and package_of(file) is None
