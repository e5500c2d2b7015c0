"""Lines of a flood are written together, and nothing is held back for long."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

_PRELUDE = """
import os, sys, time
from hotcell_guest.interpreter.streams import Streams
streams = Streams(lambda: None)
streams.begin()
"""


def _output(program: str) -> list[str]:
    guest = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": guest}
    done = subprocess.run([sys.executable, "-c", _PRELUDE + program], env=environment, stdout=subprocess.PIPE, check=False, timeout=60)
    return done.stdout.decode().splitlines()


def test_the_lines_of_a_flood_take_few_system_calls() -> None:
    lines = _output("""
for line in range(20_000): print("line", line)
streams.flush()
with open("/proc/self/io") as file: print([text for text in file if text.startswith("syscw")][0].split()[1])
""")
    assert lines[:-1] == [f"line {line}" for line in range(20_000)]
    assert int(lines[-1]) < 2_000


def test_a_program_that_falls_silent_or_is_killed_has_its_lines_written() -> None:
    lines = _output("""
for line in range(2_000): print(line)
time.sleep(0.2)
os.kill(os.getpid(), 9)
""")
    assert lines == [str(line) for line in range(2_000)]


def test_children_and_ends_come_after_what_was_printed() -> None:
    lines = _output("""
import subprocess
for line in range(500): print("a")
os.system("echo system")
for line in range(500): print("b")
subprocess.run(["echo", "child"])
for line in range(500): print("c")
pid = os.fork()
if pid == 0:
    for line in range(500): print("d")
    os._exit(0)
os.waitpid(pid, 0)
for line in range(500): print("e")
os._exit(0)
""")
    order = list(dict.fromkeys(lines))
    assert order == ["a", "system", "b", "child", "c", "d", "e"]
    assert [lines.count(name) for name in order] == [500, 1, 500, 1, 500, 500, 500]


def test_a_slow_program_has_no_thread_and_each_line_at_once() -> None:
    guest = str(Path(__file__).parents[1])
    program = _PRELUDE + "print(len(os.listdir('/proc/self/task')))\ntime.sleep(30)"
    child = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": guest}, stdout=subprocess.PIPE)
    try:
        begin = time.monotonic()
        assert child.stdout is not None
        assert child.stdout.readline() == b"1\n"
        assert time.monotonic() - begin < 20
    finally:
        child.kill()
        child.communicate()
