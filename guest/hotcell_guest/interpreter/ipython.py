"""IPython over a kernel's namespace, for syntax that plain Python lacks: magics, `!cmd`, `name?`. Imported on first
use.
"""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any, Optional

from IPython.core.displaypub import DisplayPublisher  # type: ignore[import-not-found,unused-ignore]
from IPython.core.interactiveshell import InteractiveShell  # type: ignore[import-not-found,unused-ignore]
from traitlets.config import Config  # type: ignore[import-not-found,unused-ignore]

from ..display.displays import Displays, Redirect
from ..display.representations import Bundle, complain


def attach(main: ModuleType, displays: Displays) -> Any:
    """The only shell of this process. History is off: it would open SQLite and start a thread."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.automagic = False
    config.InteractiveShell.display_page = True
    shell = _Shell.instance(config=config, user_module=main, user_ns=main.__dict__)
    shell.display_pub.displays = displays
    return shell


def registered(shell: Any, item: Any) -> Bundle:
    """Results of functions that the user registered with IPython's formatters, for an object."""
    bundle: Bundle = {}
    for media_type, formatter in shell.display_formatter.formatters.items():
        if media_type == "text/plain":
            continue  # IPython has built-in functions for many types
        try:
            function = formatter.lookup(item)
        except KeyError:
            continue
        try:
            data = function(item)
        except Exception as error:  # noqa: BLE001 - the user's function
            complain(f"{media_type} of {type(item).__name__} raised", error)
            continue
        if data is not None:
            bundle[media_type] = data
    return bundle


def redirect(shell: Any) -> Optional[Redirect]:
    """The target of displays while something has replaced our publisher, as `%%capture` does."""
    publisher = shell.display_pub
    if isinstance(publisher, _Publisher):
        return None

    def publish(bundle: Bundle, display_id: Optional[str], update: bool) -> None:
        publisher.publish(data=bundle, metadata={}, transient={"display_id": display_id} if display_id else {}, update=update)

    return publish


class _Publisher(DisplayPublisher):  # type: ignore[misc,unused-ignore]
    """Passes what IPython publishes to the kernel's own displays."""

    displays: Optional[Displays] = None

    def publish(self, data: Bundle, *args: Any, **options: Any) -> None:
        if self.displays is not None:
            self.displays.publish_display_data(data, *args, **options)

    def clear_output(self, wait: bool = False) -> None:
        if self.displays is not None:
            self.displays.clear_output(wait)


class _Shell(InteractiveShell):  # type: ignore[misc,unused-ignore]
    """IPython's shell with pipes for commands, and without a terminal, interrupt handling and figures of its own."""

    def init_display_pub(self) -> None:
        self.display_pub = _Publisher(parent=self, shell=self)

    def init_sys_modules(self) -> None:
        """The namespace is __main__ already."""

    def init_logger(self) -> None:
        super().init_logger()

    def enable_gui(self, gui: Any = None) -> None:
        """A sandbox has no screen."""

    def enable_matplotlib(self, gui: Any = None) -> tuple[str, str]:
        """`%matplotlib inline` and similar magics: figures are captured anyway."""
        return "inline", "hotcell"

    def system(self, cmd: str) -> None:
        """`!cmd`: the command writes to the execution's own pipes. A pseudo-terminal would merge its streams."""
        sys.stdout.flush()
        sys.stderr.flush()
        command = self.var_expand(cmd, depth=1)
        self.user_ns["_exit_code"] = subprocess.call(command, shell=True, executable="/bin/sh")
