"""display(), its handles, update_display() and clear_output(), as in a notebook but without IPython. Imported on first
use.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Optional

from . import representations
from .representations import Bundle
from .screen import Screen

# Publishes a bundle elsewhere than in the result; used by IPython's `%%capture`.
Redirect = Callable[[Bundle, Optional[str], bool], None]


class Displays:
    """The display functions of one kernel. `registered` and `redirect` use IPython's shell, if there is one."""

    def __init__(self, screen: Screen, registered: Callable[[Any], Bundle], redirect: Callable[[], Optional[Redirect]]) -> None:
        self._screen = screen
        self._registered = registered
        self._redirect = redirect

    def display(
        self,
        *objs: Any,
        include: Optional[Iterable[str]] = None,
        exclude: Optional[Iterable[str]] = None,
        metadata: Any = None,
        transient: Any = None,
        display_id: Any = None,
        raw: bool = False,
        clear: bool = False,
        update: bool = False,
        **_more: Any,
    ) -> Optional[DisplayHandle]:
        """Displays each object in all its media types. With `display_id` it returns a handle for updates."""
        if clear:
            self.clear_output(wait=True)
        name = _new_id() if display_id is True else None if display_id is None or display_id is False else str(display_id)
        for item in objs:
            if raw and not isinstance(item, dict):
                raise TypeError(f"display(raw=True) takes a dict of media types, not {type(item).__name__}")
            bundle = item if raw else self._bundle(item)
            if bundle is not None:
                self._publish(representations.chosen(bundle, include, frozenset(exclude or ())), name, update)
        return None if name is None else DisplayHandle(name, self)

    def update_display(self, obj: Any, *, display_id: Any, **options: Any) -> None:
        """Replaces the display with this id, in its old position."""
        self.display(obj, display_id=str(display_id), **{**options, "update": True})

    def clear_output(self, wait: bool = False) -> None:
        """Discards the output and displays of this execution so far; with `wait`, when the next output comes."""
        self._screen.clear(bool(wait))

    def publish_display_data(
        self, data: Bundle, metadata: Any = None, source: Any = None, *, transient: Any = None, update: bool = False, **_more: Any
    ) -> None:
        """Called by IPython's own publishers, with a complete bundle."""
        name = transient.get("display_id") if isinstance(transient, dict) else None
        self._publish(data, None if name is None else str(name), update)

    def _bundle(self, item: Any) -> Optional[Bundle]:
        bundle = representations.bundle_of(item, self._registered)
        return None if bundle is None else representations.with_text(item, bundle)

    def _publish(self, bundle: Bundle, display_id: Optional[str], update: bool) -> None:
        redirect = self._redirect()
        if redirect is not None:
            redirect(bundle, display_id, update)
            return
        parts = representations.encoded(bundle)
        if parts:
            self._screen.show(parts, display_id, update)


class DisplayHandle:
    """The result of display(): displays more under the same id, or updates it."""

    def __init__(self, display_id: str, displays: Displays) -> None:
        self.display_id = display_id
        self._displays = displays

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, obj: Any, **options: Any) -> None:
        self._displays.display(obj, display_id=self.display_id, **options)

    def update(self, obj: Any, **options: Any) -> None:
        self._displays.update_display(obj, display_id=self.display_id, **options)


def _new_id() -> str:
    return os.urandom(16).hex()
