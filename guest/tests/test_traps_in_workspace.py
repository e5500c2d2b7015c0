"""A kernel that is made ahead stands in a folder of its future session, and imports nothing from there before the session asks."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Modules that the guest imports on first use.
_TRAPPED = ("difflib", "asyncio", "inspect", "random", "textwrap", "html", "own_module")
_GUEST = str(Path(__file__).parents[1])

# A process of its own: this one has imported most of the trapped modules. Prints the traps that ran after each request.
_LEAD = """
import json, os, socket, sys
sys.path.append(sys.argv[1])
from hotcell_guest.start.python_kernels import fork_python_kernel
from hotcell_guest.system.limits import Limits
from hotcell_guest.wire.frames import Frame, FrameDecoder, encode
started = fork_python_kernel(Limits(memory_bytes=1 << 30, open_files=64, file_bytes=1 << 20, cpus=1), sys.argv[2])
decoder, waiting = FrameDecoder(), []
def until(kind):
    while True:
        while waiting:
            if waiting.pop(0).head['type'] == kind:
                return print(json.dumps(sorted(name for name in os.listdir(sys.argv[2]) if name.startswith('ran-'))), flush=True)
        waiting.extend(decoder.feed(started.sock.recv(65536)))
until('up')
started.sock.sendall(encode(Frame({'type': 'exercise'})))
until('exercised')
head = {'type': 'execute', 'execution': 'e', 'filename': 'f'}
pipes = [os.open(os.devnull, os.O_WRONLY) for _ in '12']
socket.send_fds(started.sock, [encode(Frame(head, b'import own_module'))], pipes)
until('finished')
started.sock.close()
os.waitpid(started.pid, 0)
"""


class TrapsInWorkspaceTest(unittest.TestCase):
    def test_nothing_is_imported_from_the_workspace_before_the_first_execution(self) -> None:
        with tempfile.TemporaryDirectory() as workspace:
            for name in _TRAPPED:
                Path(workspace, f"{name}.py").write_text(f"open({str(Path(workspace, 'ran-' + name))!r}, 'w').close()\n")
            done = subprocess.run([sys.executable, "-I", "-c", _LEAD, _GUEST, workspace], capture_output=True, timeout=60, check=True)
        ahead, exercised, executed = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((ahead, exercised), ([], []))
        self.assertEqual(executed, ["ran-own_module"])
