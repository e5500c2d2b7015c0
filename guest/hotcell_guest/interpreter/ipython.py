"""IPython over a kernel's namespace, for syntax that plain Python lacks: magics, `!cmd`, `name?`. Imported on first
use.
"""

from __future__ import annotations

import builtins
import shlex
import subprocess
import sys
from types import ModuleType
from typing import Any, Optional

from IPython.core.displayhook import DisplayHook  # type: ignore[import-not-found,unused-ignore]
from IPython.core.displaypub import DisplayPublisher  # type: ignore[import-not-found,unused-ignore]
from IPython.core.interactiveshell import (  # type: ignore[import-not-found,unused-ignore]
    ExecutionInfo,
    ExecutionResult,
    InteractiveShell,
)
from traitlets.config import Config  # type: ignore[import-not-found,unused-ignore]

from ..display.displays import Displays, Redirect
from ..display.representations import Bundle, complain
from ..system.site_layers import may_install
from .hints import MISSING_PROGRAM
from .installers import InstallError, installer_in

_MAX_REMEMBERED = 200
_NOT_FOUND = 127  # exit code of a shell


def attach(main: ModuleType, displays: Displays, sources: list[str]) -> Any:
    """The only shell of this process. Its database of history is off: it would open SQLite and start a thread. `sources`
    are the cells until now, for `In` and `%history`.
    """
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.automagic = False
    config.MagicsManager.auto_magic = False  # `%lsmagic` says so
    config.InteractiveShell.display_page = True
    shell = _Shell.instance(config=config, user_module=main, user_ns=main.__dict__)
    shell.display_pub.displays = displays
    _offer_figure_formats(shell)
    shell.history_manager.get_tail = _tail_of(shell.history_manager)
    for source in sources:
        _remember_input(shell, source)
    shell.register_magic_function(_list_magics(shell), "line", "lsmagic")
    shell.register_magic_function(_pip(shell), "line", "pip")
    return shell


def before_cell(shell: Any, source: str) -> Any:
    """Calls what the user registered for the beginning of a cell: `%autoreload` reloads modules then. Returns the result
    for `after_cell`.
    """
    _remember_input(shell, source)
    result = ExecutionResult(ExecutionInfo(source, True, False, True, None))
    shell.events.trigger("pre_execute")
    shell.events.trigger("pre_run_cell", result.info)
    return result


def after_cell(shell: Any, result: Any) -> None:
    shell.events.trigger("post_execute")
    shell.events.trigger("post_run_cell", result)


def transforms_all(shell: Any) -> bool:
    """Whether the user added transformations of the input, which apply to plain Python too."""
    return bool(shell.input_transformers_post) or len(shell.input_transformers_cleanup) != shell.own_cleanups


def text_of(shell: Any, item: Any) -> Optional[str]:
    """The text of an object for which the user registered a function or a precision (`%precision`); None for others."""
    formatter = shell.display_formatter.formatters["text/plain"]
    if type(item) is float:
        return str(formatter.float_format % item) if formatter.float_precision else None
    if formatter.type_printers.get(type(item)) is not shell.own_printers.get(type(item)):
        return str(formatter(item))
    return None


def _remember_input(shell: Any, source: str) -> None:
    """Of values there is no such list: it would keep every frame that was ever shown in memory."""
    history = shell.history_manager
    for inputs in (history.input_hist_parsed, history.input_hist_raw):
        inputs.append(source)
        if len(inputs) > _MAX_REMEMBERED:
            inputs[len(inputs) - _MAX_REMEMBERED] = ""
    shell.execution_count = len(history.input_hist_raw)


def _tail_of(history: Any) -> Any:
    """The last inputs, for `%rerun` and `%recall`. IPython's own reads its database."""

    def get_tail(n: int = 10, raw: bool = True, output: bool = False, include_latest: bool = False) -> list[Any]:
        inputs = list(enumerate(history.input_hist_raw))[1:]
        last = inputs if include_latest else inputs[:-1]
        return [(0, number, (source, None) if output else source) for number, source in last[-n:]]

    return get_tail


def _pip(shell: Any) -> Any:
    """`%pip` without the note of IPython's own that the kernel may need a restart: ours says so when it does."""
    original = shell.find_line_magic("pip")

    def pip(line: str) -> None:
        if may_install():
            shell.system(f"{shlex.quote(sys.executable)} -m pip {line}")
        else:
            original(line)

    return pip


def _list_magics(shell: Any) -> Any:
    """`%lsmagic` as text: the value of IPython's own is a string, which a reader would see with `\\n` in it."""
    original = shell.find_line_magic("lsmagic")

    def lsmagic(line: str) -> Any:
        found = original(line)
        if not isinstance(found, str):
            return found
        print(found)
        return None

    return lsmagic


def _offer_figure_formats(shell: Any) -> None:
    """Makes `%config InlineBackend.figure_formats` known. It registers functions for figures, which `registered` finds."""
    try:
        from matplotlib_inline.config import InlineBackend  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    settings = InlineBackend.instance(parent=shell)
    settings.shell = shell
    if settings not in shell.configurables:
        shell.configurables.append(settings)


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


class _Values(DisplayHook):  # type: ignore[misc,unused-ignore]
    """Shows the value of code that runs inside a cell (`%%capture`, `run_cell`) as a display, not as text on stdout. It
    keeps the last value alone, where the kernel keeps it too.
    """

    def update_user_ns(self, result: Any) -> None:
        builtins._ = result  # type: ignore[attr-defined]

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Bundle, md_dict: Any = None) -> None:
        self.shell.display_pub.publish(data=format_dict, metadata=md_dict or {})

    def finish_displayhook(self) -> None:
        self._is_active = False


class _Shell(InteractiveShell):  # type: ignore[misc,unused-ignore]
    """IPython's shell with pipes for commands, and without a terminal, interrupt handling and figures of its own."""

    displayhook_class = _Values

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.own_cleanups = len(self.input_transformers_cleanup)
        self.own_printers = dict(self.display_formatter.formatters["text/plain"].type_printers)

    def init_displayhook(self) -> None:
        """The hook defines `_`, `__` and `___` as empty texts, which would hide the last value and a `_` of the user."""
        before = self._user_names("_", "__", "___")
        super().init_displayhook()
        for name in ("_", "__", "___"):
            self.user_ns.pop(name, None)
        self.user_ns.update(before)

    def init_user_ns(self) -> None:
        before = self._user_names("In", "Out", "open", "exit", "quit")
        super().init_user_ns()
        # Always empty here. A name that is missing gets a hint.
        self.user_ns.pop("Out", None)
        for name in before:
            self.user_ns_hidden.pop(name, None)
        self.user_ns.update(before)

    def _user_names(self, *names: str) -> dict[str, Any]:
        """Variables of the user among names that IPython defines, when it is loaded late."""
        return {name: self.user_ns[name] for name in names if name in self.user_ns}

    def set_custom_exc(self, exc_tuple: Any, handler: Any) -> None:
        super().set_custom_exc((), None)
        if exc_tuple:  # IPython itself sets none
            sys.stderr.write("set_custom_exc has no effect here: Hotcell reports exceptions itself.\n")

    def init_display_pub(self) -> None:
        self.display_pub = _Publisher(parent=self, shell=self)

    def init_sys_modules(self) -> None:
        """The namespace is __main__ already."""

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
        exit_code = subprocess.call(command, shell=True, executable="/bin/sh")
        self.user_ns["_exit_code"] = exit_code
        if exit_code == _NOT_FOUND:
            sys.stderr.write(f"{MISSING_PROGRAM}\n")
        installer = installer_in(command) if exit_code != 0 else ""
        if installer:
            # Code that needs the package would fail next, with a less helpful error.
            raise InstallError(f"{installer} failed with exit code {exit_code}")
