"""What objects show of themselves, whatever their methods do."""

from __future__ import annotations

import base64
import contextlib
import io
import unittest
from typing import Any, Callable

from hotcell_guest.display.displays import Displays
from hotcell_guest.display.representations import MAX_PART_BYTES, bundle_of, encoded
from hotcell_guest.display.screen import Screen
from hotcell_guest.wire.display_limits import MAX_ID_CHARS, MAX_PARTS


def showing(**methods: Any) -> Any:
    """An object with `_repr_<name>_` methods that return what is given, or raise it."""

    def method(given: Any) -> Any:
        def call(_self: Any, **_options: Any) -> Any:
            if isinstance(given, BaseException):
                raise given
            return given

        return call

    return type("Shown", (), {f"_repr_{name}_": method(given) for name, given in methods.items()})()


def parts(item: Any) -> dict[str, bytes]:
    with contextlib.redirect_stderr(io.StringIO()):
        return dict(encoded(bundle_of(item) or {}))


class Representations(unittest.TestCase):
    def test_the_richest_comes_last(self) -> None:
        item = showing(
            html="<b>", png=b"\x89PNG", latex="$x$", mimebundle={"application/vnd.plotly.v1+json": {"data": []}, "text/plain": "x"}
        )
        self.assertEqual(list(parts(item)), ["text/plain", "text/latex", "image/png", "text/html", "application/vnd.plotly.v1+json"])

    def test_a_bundle_with_metadata_is_a_bundle(self) -> None:
        self.assertEqual(parts(showing(mimebundle=({"text/html": "<b>"}, {"text/html": {"width": 1}}))), {"text/html": b"<b>"})
        self.assertEqual(parts(showing(json=({"a": 1}, {"expanded": True}))), {"application/json": b'{"a": 1}'})

    def test_pictures_may_be_base64(self) -> None:
        self.assertEqual(parts(showing(png=base64.b64encode(b"\x89PNG").decode())), {"image/png": b"\x89PNG"})
        self.assertEqual(parts(showing(png="no picture, that is plain")), {})

    def test_what_is_no_representation_is_left_out(self) -> None:
        for given in (None, 5, object(), [1], ValueError("no"), NotImplementedError()):
            with self.subTest(given):
                self.assertEqual(parts(showing(html=given)), {})
        rubbish = {1: "a", "no type": "b", "text/x\n": "c", "TEXT/HTML": "<b>", "text/html; charset=x": "d", "x" * 200 + "/y": "e"}
        self.assertEqual(parts(showing(mimebundle=rubbish)), {"text/html": b"<b>"})
        for given in ("text", ["list"], 7):
            self.assertEqual(parts(showing(mimebundle=given)), {})

    def test_size_and_number_are_bounded(self) -> None:
        many = parts(showing(mimebundle={f"application/x-{number}": "x" for number in range(1_000)}))
        self.assertEqual(len(many), MAX_PARTS)
        self.assertEqual(parts(showing(html="x" * (MAX_PART_BYTES + 1))), {})
        self.assertEqual(parts(showing(html="é" * (MAX_PART_BYTES // 2 + 1))), {})
        self.assertEqual(parts(showing(json=["x" * 1_000] * 20_000)), {})
        endless: list[Any] = []
        endless.append(endless)
        self.assertEqual(parts(showing(json=endless)), {})

    def test_odd_text_is_still_text(self) -> None:
        self.assertEqual(parts(showing(html="\ud800é")), {"text/html": b"\\ud800\xc3\xa9"})

    def test_nothing_of_a_class_is_asked_that_it_does_not_define(self) -> None:
        class Meta(type):
            def __getattr__(cls, name: str) -> Any:
                raise AssertionError(name)

        class Silent(metaclass=Meta):
            def __getattr__(self, name: str) -> Any:
                raise AssertionError(name)

        self.assertEqual(parts(Silent()), {})

    def test_a_class_is_not_shown_as_its_instances_are(self) -> None:
        self.assertEqual(parts(type(showing(html="<b>"))), {})


class Recorder:
    """A link that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[dict[str, Any], bytes]] = []

    def send(self, head: dict[str, Any], body: bytes = b"") -> None:
        self.sent.append((head, body))

    hold = send

    def drain(self) -> None:
        pass

    def postpone(self, work: Callable[[], None]) -> bool:
        return False


class DisplayFunctions(unittest.TestCase):
    def setUp(self) -> None:
        self.link = Recorder()
        self.displays = Displays(Screen(self.link, lambda: None), lambda _item: {}, lambda: None)

    def test_each_object_is_a_display_of_its_own(self) -> None:
        self.displays.display("a", showing(html="<b>"))
        self.assertEqual(
            [(head["index"], head["part"], head["mediaType"], head["end"]) for head, _ in self.link.sent],
            [(0, 0, "text/plain", True), (1, 0, "text/plain", False), (1, 1, "text/html", True)],
        )

    def test_a_handle_updates_what_it_stands_for(self) -> None:
        handle = self.displays.display(1, display_id=True)
        assert handle is not None
        handle.update(2)
        handle.display(3)
        self.displays.update_display(4, display_id=handle.display_id)
        ids = {head["id"] for head, _ in self.link.sent}
        self.assertEqual(ids, {handle.display_id})
        self.assertEqual([head.get("update", False) for head, _ in self.link.sent], [False, True, False, True])
        self.assertLessEqual(len(handle.display_id), MAX_ID_CHARS)

    def test_media_types_can_be_chosen(self) -> None:
        item = showing(html="<b>", latex="$x$")
        self.displays.display(item, include=["text/html"])
        self.displays.display(item, exclude=["text/html"])
        self.assertEqual([head["mediaType"] for head, _ in self.link.sent], ["text/html", "text/plain", "text/latex"])

    def test_large_data_comes_in_pieces_that_are_the_whole(self) -> None:
        data = bytes(range(256)) * 2_000
        self.displays.display({"image/png": data}, raw=True)
        self.assertEqual(b"".join(body for _, body in self.link.sent), data)
        self.assertEqual([head["end"] for head, _ in self.link.sent], [False, False, False, True])

    def test_an_object_that_displays_itself_is_left_to_it(self) -> None:
        calls = []
        own = type("Own", (), {"_ipython_display_": lambda self: calls.append("called"), "_repr_html_": lambda self: "<b>"})()
        self.displays.display(own)
        self.assertEqual((calls, self.link.sent), (["called"], []))

    def test_only_a_dict_is_raw(self) -> None:
        with self.assertRaises(TypeError):
            self.displays.display(5, raw=True)
