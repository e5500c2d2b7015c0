"""Runs one piece of Python in a persistent namespace: value of the last expression, top-level await, clean tracebacks.

Plain Python runs here, without IPython. IPython syntax (magics, `!cmd`, `name?`) is never valid Python, so IPython is
loaded only for code that does not parse, or that uses it by name.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
from collections import deque
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Optional, Union

from ..display import charts, figures, frame_width
from ..display import names as display_names
from ..display.plain_text import text_of
from ..display.screen import Parts, Screen
from ..objects.static_lookup import defines_any, is_one_of
from ..system.import_hooks import AfterImport
from . import get_ipython, pasted_code, spawning, standard_input
from .bindings import Bindings
from .new_layers import NewLayers
from .outcomes import Outcome, outcome_of
from .silenced import is_silenced
from .warnings_once import WarningsOnce

if TYPE_CHECKING:
    from ..display.displays import Displays
    from .event_loop import SessionLoop

MAX_VALUE_BYTES = 65_536
_MAX_REMEMBERED_SOURCE = 1_048_576
# A line that starts with a magic, a command or a question, ends with a question mark, or assigns the output of a magic
# or command.
_LIKE_IPYTHON = re.compile(r"^\s*[%!?]|\?\s*$|=\s*[%!]", re.MULTILINE)
# An object without any of these methods is shown only as text.
_RICH_METHODS = ("_repr_mimebundle_", "_ipython_display_", "_repr_html_", "_repr_png_", "_repr_svg_", "_repr_jpeg_") + (
    ("_repr_markdown_", "_repr_latex_", "_repr_json_", "_repr_pdf_", "_repr_javascript_")
)

# As in `inspect`, which takes long to import.
_CO_COROUTINE = 0x80
_PLAIN_TYPES = frozenset({int, float, str, bool, bytes, complex, list, tuple, dict, set})


class Shell:
    """The interpreter state of one kernel. `screen` receives results. The process is unchanged until `install`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._displays: Optional[Displays] = None
        self._ipython: Any = None
        self._loop: Optional[SessionLoop] = None
        self._sources: deque[str] = deque()
        self._source_bytes = 0
        self._source = ""
        self._figures_shown = 0
        self._warnings = WarningsOnce()
        self.main = _fresh_main()
        self.layers = NewLayers()
        self.bindings = Bindings(self.main.__dict__, self.names_of_ipython)

    def install(self) -> None:
        """From now on `__main__`, `input()`, `display()` and related names belong to this shell."""
        sys.modules["__main__"] = self.main
        self._warnings.install()
        self.layers.install()
        hooks = AfterImport()
        hooks.add("matplotlib", figures.use_our_backend)
        hooks.add("hotcell_guest.display.matplotlib_backend", self._connect_backend)
        charts.install(hooks)
        frame_width.install(hooks)
        hooks.add("multiprocessing.spawn", spawning.provide_main(lambda: list(self._sources)))
        for name in ("subprocess", "multiprocessing.util"):
            hooks.add(name, spawning.without_isolation)
        hooks.add("asyncio", self._connect_asyncio)
        standard_input.install(hooks)
        get_ipython.install(hooks, self.main, lambda: self._ipython, self.ipython)
        display_names.install(hooks, self.displays)

    def run(self, source: str, filename: str, with_names: bool = False) -> Outcome:
        """Runs `source` and returns the outcome. Never raises, whatever the code does."""
        self._warnings.begin()
        if self._loop is not None:
            self._loop.begin()
        self._source = source
        result = None
        try:
            result = self._begin_in_ipython(source)
            tree, text = self._parse(source, filename)
            is_silent = is_silenced(tree, text) or (text != source and source.rstrip().endswith(";"))
            self._execute(tree, is_silent, filename)
            outcome: Outcome = {"kind": "ok"}
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are outcomes too
            outcome = outcome_of(error, with_names)
        try:
            if self._loop is not None:
                self._loop.run_ready()
            if result is not None:
                self._end_in_ipython(result)
            self._show_figures()
        except BaseException as error:  # noqa: BLE001 - an interrupt may land here
            if outcome["kind"] == "ok":
                outcome = outcome_of(error, with_names)
        return outcome

    def _begin_in_ipython(self, source: str) -> Any:
        """Events of IPython, if the program uses it."""
        if self._ipython is None:
            return None
        from . import ipython

        return ipython.before_cell(self._ipython, source)

    def _end_in_ipython(self, result: Any) -> None:
        from . import ipython

        ipython.after_cell(self._ipython, result)

    def _parse(self, source: str, filename: str) -> tuple[ast.Module, str]:
        """The tree, and the Python code that it was made of."""
        text = pasted_code.plain_code(source) if pasted_code.has_ipython_prompt(source) else source
        if self._ipython is not None:
            text = self._transformed(text)
        parsed = _parsed(text, filename)
        if not isinstance(parsed, ast.Module):
            text, parsed = self._translated(text, filename, parsed)
        _remember_lines(filename, text)
        if not isinstance(parsed, ast.Module):
            raise parsed
        self._remember_source(text)
        return parsed, text

    def _translated(self, text: str, filename: str, failure: Exception) -> tuple[str, Union[ast.Module, Exception]]:
        """Code that is not plain Python, and the result of parsing the Python code that it is translated to."""
        parsed: Union[ast.Module, Exception] = failure
        plain = pasted_code.plain_code(text)
        if plain != text:
            text, parsed = plain, _parsed(plain, filename)
        if isinstance(parsed, ast.Module) or not _LIKE_IPYTHON.search(text):
            return text, parsed
        if self.ipython() is None:
            if isinstance(parsed, SyntaxError):
                parsed.msg += " (magics and ! commands need IPython, which is not installed in this sandbox)"
            return text, parsed
        transformed: str = self._ipython.transform_cell(text)
        return (text, parsed) if transformed == text else (transformed, _parsed(transformed, filename))

    def _transformed(self, text: str) -> str:
        from . import ipython

        return str(self._ipython.transform_cell(text)) if ipython.transforms_all(self._ipython) else text

    def _execute(self, tree: ast.Module, is_silent: bool, filename: str) -> None:
        self._figures_shown = 0
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr):
            self._run_codes(_compile(tree, filename, "exec"))
            return
        shown = _compile(ast.Expression(last.value), filename, "eval")
        if len(tree.body) > 1:
            value = self._run_codes(_compile(ast.Module(tree.body[:-1], tree.type_ignores), filename, "exec"), shown)
        else:
            value = self._run_codes(shown)
        if value is None or is_silent:
            return
        builtins._ = value  # type: ignore[attr-defined]
        if not self._is_beside_figure(value):
            self._show_value(value)

    def _is_beside_figure(self, value: Any) -> bool:
        """Whether it is the return value of a plotting function whose figure is shown."""
        if "matplotlib.artist" not in sys.modules or not (self._figures_shown or figures.has_open_figure()):
            return False
        from ..display.artists import is_of_drawing

        return is_of_drawing(value)

    def _show_value(self, value: Any) -> None:
        """Most values have no representation but their text, which costs one look at their type."""
        kind = type(value)
        if self._ipython is None and (is_one_of(kind, _PLAIN_TYPES) or not defines_any(kind, _RICH_METHODS)):
            self._send_value(text_of(value), [])
            return
        from ..display import representations

        # An open figure is shown at the end of the execution, and not twice.
        bundle = {} if figures.is_open_figure(value) else representations.bundle_of(value, self._registered)
        if bundle is None:
            return  # it has shown itself
        text = bundle.pop("text/plain", None)
        if not isinstance(text, str):
            text = self._text_by_ipython(value) or representations.readable_text(text_of(value), bundle)
        self._send_value(text, representations.encoded(bundle))

    def _text_by_ipython(self, value: Any) -> Optional[str]:
        if self._ipython is None:
            return None
        from . import ipython

        return ipython.text_of(self._ipython, value)

    def _send_value(self, text: str, parts: Parts) -> None:
        data = str.encode(text, "utf-8", "backslashreplace")
        self._screen.value(data[:MAX_VALUE_BYTES].decode("utf-8", "ignore"), len(data) > MAX_VALUE_BYTES, parts)

    def _show_figures(self) -> None:
        self._figures_shown += figures.capture_open_figures(self._show_figure, self._registered)

    def _show_figure(self, bundle: dict[str, Any]) -> None:
        from ..display.representations import encoded

        self._screen.show(encoded(bundle))

    def evaluate(self, source: str) -> Any:
        """The value of one expression, for a question. Raises the errors of the expression."""
        return self._run_codes(_compile(ast.parse(source, "<expression>", "eval"), "<expression>", "eval"))

    def names_of_ipython(self) -> dict[str, Any]:
        """Names that IPython has put into the namespace for itself."""
        names = getattr(self._ipython, "user_ns_hidden", None)
        return names if type(names) is dict else {}

    def _run_codes(self, *codes: CodeType) -> Any:
        """Runs the parts of one cell and returns the value of the last. If one of them awaits, all run in the event
        loop.
        """
        for code in codes:
            if code.co_flags & _CO_COROUTINE:
                return self._event_loop().run(self._awaited(codes))
        value = None
        for code in codes:
            self.bindings.will_run(code)
            value = eval(code, self.main.__dict__)
        return value

    async def _awaited(self, codes: tuple[CodeType, ...]) -> Any:
        value = None
        for code in codes:
            self.bindings.will_run(code)
            value = eval(code, self.main.__dict__)
            if code.co_flags & _CO_COROUTINE:
                value = await value
        return value

    def _event_loop(self) -> SessionLoop:
        import asyncio  # noqa: F401 - only cells that await pay for it; once this shell is installed, this connects the loop

        from .event_loop import SessionLoop

        if self._loop is None:
            self._loop = SessionLoop()
        return self._loop

    def _connect_asyncio(self, _asyncio: ModuleType) -> None:
        self._event_loop().install()

    def ipython(self) -> Any:
        """IPython's shell over this namespace, created on first use; None if IPython is not installed."""
        if self._ipython is None:
            try:
                from . import ipython
            except ImportError:
                return None
            self._ipython = ipython.attach(self.main, self.displays(), [*self._sources, self._source])
        return self._ipython

    def displays(self) -> Displays:
        """display() and related functions, created on first use."""
        if self._displays is None:
            from ..display.displays import Displays

            self._displays = Displays(self._screen, self._registered, self._redirect)
        return self._displays

    def _registered(self, item: Any) -> dict[str, Any]:
        if self._ipython is None:
            return {}
        from . import ipython

        return ipython.registered(self._ipython, item)

    def _redirect(self) -> Any:
        if self._ipython is None:
            return None
        from . import ipython

        return ipython.redirect(self._ipython)

    def _connect_backend(self, backend: ModuleType) -> None:
        module: Any = backend
        module.on_show = self._show_figures

    def _remember_source(self, source: str) -> None:
        self._sources.append(source)
        self._source_bytes += len(source)
        while self._source_bytes > _MAX_REMEMBERED_SOURCE and len(self._sources) > 1:
            self._source_bytes -= len(self._sources.popleft())


def _fresh_main() -> ModuleType:
    main = ModuleType("__main__", None)
    main.__dict__["__builtins__"] = builtins
    main.__dict__["__annotations__"] = {}
    return main


def _parsed(source: str, filename: str) -> Union[ast.Module, Exception]:
    try:
        return ast.parse(source, filename)
    except (SyntaxError, ValueError) as error:
        return error.with_traceback(None)


def _compile(tree: Any, filename: str, mode: str) -> CodeType:
    code: CodeType = compile(tree, filename, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


def _remember_lines(filename: str, source: str) -> None:
    linecache.cache[filename] = (len(source), None, [f"{line}\n" for line in source.splitlines()], filename)
