"""The program that packs what a builder has made."""

from __future__ import annotations

import io
import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "bootstrap" / "pack_tree.py"))
pack = PROGRAM["pack"]


def packed(parts: dict[str, str], most_bytes: int = 1000) -> list[tuple[dict[str, Any], bytes]]:
    out = io.BytesIO()
    pack(out, most_bytes, parts)
    data, entries = io.BytesIO(out.getvalue()), []
    while head := data.read(4):
        entry = json.loads(data.read(int.from_bytes(head, "big")))
        entries.append((entry, data.read(entry.get("size", 0))))
    return entries


def test_files_folders_and_links_are_packed_in_order_and_removed(tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    (layer / "mine").mkdir(parents=True)
    (layer / "mine" / "a.py").write_text("x = 1")
    (layer / "bin").mkdir()
    (layer / "bin" / "run").write_text("#!")
    (layer / "bin" / "run").chmod(0o755)
    (layer / "bin" / "also").symlink_to("run")
    (layer / ".lock").touch()
    entries = packed({"bin": str(layer / "bin"), "python": str(layer), "node_modules": str(tmp_path / "none")})
    assert entries == [
        ({"kind": "folder", "path": "bin"}, b""),
        ({"kind": "link", "path": "bin/also", "target": "run"}, b""),
        ({"kind": "file", "path": "bin/run", "size": 2, "executable": True}, b"#!"),
        ({"kind": "folder", "path": "python"}, b""),
        ({"kind": "folder", "path": "python/mine"}, b""),
        ({"kind": "file", "path": "python/mine/a.py", "size": 5, "executable": False}, b"x = 1"),
        ({"kind": "end"}, b""),
    ]
    assert os.listdir(layer) == [".lock"]


def test_what_is_neither_a_file_nor_a_folder_nor_a_link_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SystemExit, match="neither"):
        packed({"python": str(tmp_path)})


def test_more_bytes_than_allowed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 11)
    with pytest.raises(SystemExit, match="larger than 10"):
        packed({"python": str(tmp_path)}, 10)
