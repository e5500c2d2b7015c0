"""The frames of a traceback: whose they are, and what is said once instead of a thousand times."""

from __future__ import annotations

import json
import os
import sys
from types import TracebackType
from typing import Any, Callable, Optional

import pytest

from hotcell_guest.interpreter import call_stack
from hotcell_guest.interpreter.call_stack import Call, Omitted, Repeats, calls_of, folded, local_names, package_of
from hotcell_guest.interpreter.our_files import is_our_file


def _traceback(source: str, filename: str = "<cell>") -> Optional[TracebackType]:
    try:
        exec(compile(source, filename, "exec"), {"json": json})
    except Exception as error:  # noqa: BLE001 - whatever the code raises is what is looked at
        return error.__traceback__
    raise AssertionError("it raised nothing")


def _own(source: str) -> list[Any]:
    """Without the frame of this test."""
    return calls_of(_traceback(source))[1:]


def test_calls_go_from_the_outermost_to_the_innermost() -> None:
    calls = _own("def f():\n    g()\ndef g():\n    1 / 0\nf()")
    assert [(call.function, call.line, call.package) for call in calls] == [("<module>", 5, None), ("f", 2, None), ("g", 4, None)]


def test_a_call_of_a_library_names_the_library() -> None:
    assert {call.package for call in _own("json.loads('{')")} == {None, "json"}


def test_files_of_every_package_of_the_guest_are_ours() -> None:
    root = os.path.dirname(os.path.dirname(os.path.abspath(call_stack.__file__)))
    assert os.path.basename(root) == "hotcell_guest"
    assert is_our_file(os.path.join(root, "__main__.py"))
    assert is_our_file(os.path.join(root, "display", "figures.py"))
    assert not is_our_file(f"{root}_of_the_user/a.py")


def test_frames_of_ours_are_left_out() -> None:
    ours = os.path.join(os.path.dirname(os.path.abspath(call_stack.__file__)), "shell.py")
    assert [call.file for call in calls_of(_traceback("1 / 0", ours)) if isinstance(call, Call)] == [__file__]


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("/venv/lib/python3.11/site-packages/pandas/core/frame.py", "pandas"),
        ("/usr/lib/python3/dist-packages/six.py", "six"),
        ("/a/site-packages/b/site-packages/c/d.py", "c"),
        (os.path.join(os.path.dirname(os.__file__), "json", "decoder.py"), "json"),
        ("<frozen importlib._bootstrap>", "importlib"),
        ("pandas/_libs/index.pyx", "pandas"),
        ("/workspace/mine.pyx", None),
        ("/workspace/mine.py", None),
        ("<cell 3>", None),
    ],
)
def test_the_library_of_a_file_is_read_from_its_path(file: str, package: Optional[str]) -> None:
    assert package_of(file) == package


def _calls(*names: str) -> list[Any]:
    frame = sys._getframe()
    return [Call("a.py", 1, name, None, None, frame) for name in names]


def _shown(entries: list[Any]) -> list[Any]:
    return [entry.function if isinstance(entry, Call) else entry for entry in entries]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("abc", ["a", "b", "c"]),
        ("aa", ["a", "a"]),
        ("aaab", ["a", Repeats(1, 2), "b"]),
        ("xababab", ["x", "a", "b", Repeats(2, 2)]),
        ("abcdefgabcdefgabcdefg", [*"abcdefgabcdefgabcdefg"]),
        ("", []),
    ],
)
def test_recursion_is_written_once(names: str, expected: list[Any]) -> None:
    assert _shown(folded(_calls(*names))) == expected


def test_the_middle_of_a_very_deep_stack_is_left_out() -> None:
    depth = 20_000
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 1_000)
    try:
        calls = _own(f"def f(n):\n    g(n) if n else 1 / 0\ndef g(n):\n    f(n - 1)\nf({depth // 4})")
    finally:
        sys.setrecursionlimit(limit)
    omitted = [call for call in calls if isinstance(call, Omitted)]
    assert len(omitted) == 1
    assert len(calls) - 1 + omitted[0].calls == depth // 2 + 2
    assert len(calls) <= 3_001


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns are known from 3.11 on")
def test_the_failing_part_of_a_line_is_known() -> None:
    (call,) = _own("x = 1 + (2 / 0)")
    assert call.columns == (9, 14)


def test_local_names_are_those_of_a_plain_mapping_alone() -> None:
    assert local_names(_frame_of(lambda: None)) == {}
    traceback = _traceback("def f():\n    x = 1\n    1 / 0\nf()")
    assert traceback is not None and traceback.tb_next is not None and traceback.tb_next.tb_next is not None
    assert local_names(traceback.tb_next.tb_next.tb_frame) == {"x": 1}


def test_a_mapping_of_a_metaclass_is_not_asked() -> None:
    mapping = "class D(dict):\n    def items(self):\n        raise SystemExit\n"
    meta = "class M(type):\n    def __prepare__(*a):\n        return D()\n"
    traceback = _traceback(f"{mapping}{meta}class C(metaclass=M):\n    1 / 0\n")
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback is not None
    assert local_names(traceback.tb_frame) == {}


def _frame_of(work: Callable[[], None]) -> Any:
    """A frame that runs a function without local names."""
    found: list[Any] = []
    sys.setprofile(lambda frame, event, _argument: found.append(frame) if frame.f_code is work.__code__ else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found[0]
