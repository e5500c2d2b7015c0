"""IPython over a kernel's namespace, for what plain Python cannot do: magics, `!cmd`, `name?`. Imported when first needed."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any, Optional

from IPython.core.displaypub import DisplayPublisher  # type: ignore[import-not-found,unused-ignore]
from IPython.core.interactiveshell import InteractiveShell  # type: ignore[import-not-found,unused-ignore]
from traitlets.config import Config  # type: ignore[import-not-found,unused-ignore]

from .figures import Display


def attach(main: ModuleType, display: Display) -> Any:
    """The one shell of this process. History stays off: it opens SQLite and starts a thread."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.automagic = False
    config.InteractiveShell.display_page = True
    shell = _Shell.instance(config=config, user_module=main, user_ns=main.__dict__)
    shell.display_pub.to_host = display
    return shell


class _Publisher(DisplayPublisher):  # type: ignore[misc,unused-ignore]
    """Images become displays of the execution; of everything else the text is printed."""

    to_host: Optional[Display] = None

    def publish(self, data: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        image = data.get("image/png")
        if image is not None and self.to_host is not None:
            self.to_host("image/png", image if isinstance(image, bytes) else _from_base64(image))
        elif "text/plain" in data:
            print(data["text/plain"])


class _Shell(InteractiveShell):  # type: ignore[misc,unused-ignore]
    """IPython's shell with pipes for commands and no terminal, no interrupt handling and no figures of its own."""

    def init_display_pub(self) -> None:
        self.display_pub = _Publisher(parent=self, shell=self)

    def init_sys_modules(self) -> None:
        """The namespace is __main__ already."""

    def init_logger(self) -> None:
        super().init_logger()

    def enable_gui(self, gui: Any = None) -> None:
        """A sandbox has no screen."""

    def enable_matplotlib(self, gui: Any = None) -> tuple[str, str]:
        """`%matplotlib inline` and its like: figures are captured already."""
        return "inline", "hotcell"

    def system(self, cmd: str) -> None:
        """`!cmd`: the command writes to the execution's own pipes. A pseudo-terminal would mix its streams."""
        sys.stdout.flush()
        sys.stderr.flush()
        command = self.var_expand(cmd, depth=1)
        self.user_ns["_exit_code"] = subprocess.call(command, shell=True, executable="/bin/sh")


def _from_base64(text: str) -> bytes:
    import base64

    return base64.b64decode(text)
