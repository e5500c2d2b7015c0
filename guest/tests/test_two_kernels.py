"""Executions of different kernels at once: each has its own frames, end, interrupt and files."""

from __future__ import annotations

import json
import os
import signal
import unittest
from unittest import mock

from hotcell_guest.wire.frames import Frame
from hotcell_guest.wire.refusal import Refusal

from .played_kernels import PlayedSandbox


class TwoKernelsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)
        self.python = self.sandbox.python
        self.sandbox.execute("x-python", 2)
        self.bash = self.sandbox.begin_bash("x-bash", 4)

    def ends(self) -> list[tuple[str, str]]:
        return [(end["execution"], end["outcome"]["kind"]) for end in self.sandbox.finished()]

    def test_each_ends_by_itself(self) -> None:
        self.bash.finish("x-bash")
        self.assertEqual(self.ends(), [("x-bash", "ok")])
        self.python.finish("x-python")
        self.assertEqual(self.ends(), [("x-python", "ok")])

    def test_a_kernel_cannot_speak_for_the_other(self) -> None:
        self.bash.finish("x-python")
        self.bash.say({"type": "display", "execution": "x-python", "mediaType": "text/plain", "index": 0, "end": True}, b"forged")
        self.assertEqual([frame.head["type"] for frame in self.sandbox.peer.read()], ["ready"])

    def test_a_kernel_is_busy_for_itself_alone(self) -> None:
        for language in ("python", "bash"):
            with self.assertRaises(Refusal) as refused:
                self.sandbox.execute("x-more", 6, language=language)
            self.assertEqual(refused.exception.code, "busy")
        self.bash.finish("x-bash")
        self.sandbox.execute("x-more", 6, language="bash")

    def test_an_interrupt_touches_one(self) -> None:
        self.assertEqual(self.sandbox.request("interrupt", execution="x-bash", reason="timed-out"), {"ended": False})
        self.bash.finish("x-bash")
        self.python.finish("x-python")
        self.assertEqual(self.ends(), [("x-bash", "timed-out"), ("x-python", "ok")])

    def test_the_death_of_a_kernel_ends_its_own_execution(self) -> None:
        self.sandbox.die(self.bash, signal.SIGKILL)
        self.assertEqual(self.ends(), [("x-bash", "kernel-died")])
        self.python.finish("x-python")
        self.assertEqual(self.ends(), [("x-python", "ok")])

    def test_the_idle_kernel_answers_beside_the_other(self) -> None:
        self.python.finish("x-python")
        self.python.heard()
        self.sandbox.request("complete", cursor=1)
        self.assertEqual([frame.head["type"] for frame in self.python.heard()], ["question"])
        with self.assertRaises(Refusal):
            self.sandbox.execute("x-more", 6)

    def test_a_restart_ends_both(self) -> None:
        self.sandbox.request("restart")
        for kernel in (self.python, self.bash):
            self.sandbox.die(kernel, signal.SIGKILL)
        self.assertEqual(self.ends(), [("x-python", "interrupted"), ("x-bash", "interrupted")])

    def test_a_restart_starts_the_kernel_that_an_execution_waits_for(self) -> None:
        self.sandbox.execute("x-node", 6, language="javascript")
        self.sandbox.started()
        self.sandbox.request("restart")
        node = self.sandbox.started()
        node.say({"type": "up", "pid": node.pid})
        self.assertEqual([frame.head["execution"] for frame in node.heard()], ["x-node"])


class MemoryTest(unittest.TestCase):
    def test_the_watchdog_ends_the_larger_and_waits_for_its_memory(self) -> None:
        sandbox = PlayedSandbox(self)
        sandbox.executions._memory.limit_bytes = 1
        sizes: dict[int, int] = {sandbox.python.pid: 1}
        held = mock.patch.object(sandbox.executions.kernels, "memory_bytes", lambda kernel: sizes[kernel.pid])
        too_much = mock.patch("hotcell_guest.supervisor.memory_relief.sandbox_memory_bytes", lambda limit: limit + 1)
        with held, too_much:
            sandbox.execute("x-python", 2)
            bash = sandbox.begin_bash("x-bash", 4)
            sizes[bash.pid] = 2
            sandbox.let_pass(0.06)
        self.assertEqual(
            [(run.name, run.out_of_memory) for run in sandbox.executions.runs.running], [("x-python", False), ("x-bash", True)]
        )


class FilesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)

    def write(self, name: str) -> None:
        with open(os.path.join(self.sandbox.folder, name), "a", encoding="ascii") as file:
            file.write(name)

    def reported(self) -> dict[str, list[str]]:
        frames = [frame for frame in self.sandbox.peer.read() if frame.head["type"] == "finished"]
        return {frame.head["execution"]: _paths(frame) for frame in frames}

    def test_a_file_is_reported_by_each_execution_during_which_it_changed(self) -> None:
        self.sandbox.execute("x-python", 2)
        self.write("before")
        bash = self.sandbox.begin_bash("x-bash", 4)
        self.write("during")
        bash.finish("x-bash")
        self.write("after")
        self.sandbox.python.finish("x-python")
        self.assertEqual(self.reported(), {"x-bash": ["during"], "x-python": ["after", "before", "during"]})
        self.sandbox.execute("x-next", 6)
        self.sandbox.python.finish("x-next")
        self.assertEqual(self.reported(), {"x-next": []})


def _paths(frame: Frame) -> list[str]:
    return [file["path"] for file in json.loads(frame.body or b"[]")]
