"""Displays of several threads, of signal handlers and of forked children, over a real socket."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import socket
import threading
import time
import unittest

from hotcell_guest.display.screen import Parts, Screen
from hotcell_guest.kernels.link import Link
from hotcell_guest.wire.frames import Frame, FrameDecoder, Head, encode

_THREADS = 8
_DISPLAYS = 40
_LARGE = 4 * 1_048_576  # more than a socket holds: a send waits for the reader
_SECONDS = 20.0


class Supervisor(threading.Thread):
    """The other end: keeps displays and answers drains. After the first piece of a display it reads no more until `go` is set."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(daemon=True)
        self.displays: list[Head] = []
        self.go = threading.Event()
        self._sock = sock

    def run(self) -> None:
        decoder = FrameDecoder()
        while chunk := self._sock.recv(65_536):
            for frame in decoder.feed(chunk):
                if frame.head["type"] == "drain":
                    self._sock.sendall(encode(Frame({"type": "drained", "turn": frame.head["turn"]})))
                else:
                    self.displays.append(frame.head)
                    self.go.wait(_SECONDS)


class ScreenTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ours, theirs = socket.socketpair()
        self.supervisor = Supervisor(self.ours)
        self.supervisor.start()
        self.link_end = theirs
        self.link = Link(theirs)
        self.screen = Screen(self.link, lambda: None)

    def tearDown(self) -> None:
        self.supervisor.go.set()
        self.link_end.close()
        self.supervisor.join(_SECONDS)
        self.ours.close()

    def _seen(self) -> list[Head]:
        self.link.drain()
        return self.supervisor.displays

    def test_the_parts_of_a_display_come_together_whichever_threads_display(self) -> None:
        self.supervisor.go.set()
        begin = threading.Barrier(_THREADS)

        def work(name: int) -> None:
            begin.wait()
            for _ in range(_DISPLAYS):
                self.screen.show([(f"text/x-{name}-{part}", b"x" * 1_000) for part in range(4)])

        threads = [threading.Thread(target=work, args=(name,)) for name in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen = self._seen()
        self.assertEqual(len(seen), _THREADS * _DISPLAYS * 4)
        for number, head in enumerate(seen):
            self.assertEqual((head["index"], head["part"]), divmod(number, 4))
            self.assertEqual(head["mediaType"].split("-")[1], seen[number - number % 4]["mediaType"].split("-")[1])

    def test_what_a_signal_handler_shows_in_the_middle_of_a_display_follows_it(self) -> None:
        def on_alarm(_number: int, _frame: object) -> None:
            self.screen.show([("text/x-alarm", b"")])
            self.supervisor.go.set()

        self._with_alarm(on_alarm, [("text/x-a", b""), ("text/x-b", bytes(_LARGE)), ("text/x-c", b"")])
        seen = self._seen()
        names = list(dict.fromkeys(head["mediaType"] for head in seen))
        self.assertEqual(names, ["text/x-a", "text/x-b", "text/x-c", "text/x-alarm"])
        self.assertEqual((seen[-1]["index"], {head["index"] for head in seen[:-1]}), (1, {0}))

    def test_a_display_of_a_signal_handler_waits_for_no_thread_that_waits_for_what_it_interrupts(self) -> None:
        """The main thread is in the middle of a write that is no display, and another thread has begun one."""
        handled = threading.Event()

        def on_alarm(_number: int, _frame: object) -> None:
            self.screen._send({}, [("text/x-alarm", b"")])
            handled.set()
            self.supervisor.go.set()

        before = signal.signal(signal.SIGALRM, on_alarm)
        main = threading.get_ident()
        other = threading.Thread(target=self.screen._send, args=({}, [("text/x-thread", b""), ("text/x-thread", b"")]), daemon=True)

        def interrupt() -> None:
            self._until_blocked()
            other.start()
            end = time.monotonic() + _SECONDS
            while not self.screen._is_sending and time.monotonic() < end:
                os.sched_yield()
            signal.pthread_kill(main, signal.SIGALRM)
            # Lets a run that is stuck go on to fail: the lock that the handler would wait for is the other thread's.
            if not handled.wait(_SECONDS / 4):
                os._exit(1)

        signaller = threading.Thread(target=interrupt)
        try:
            signaller.start()
            with self.link._reading:  # as in the middle of a drain
                for _ in range(8):
                    self.link.send({"type": "clear"}, bytes(_LARGE // 4))
        finally:
            signaller.join()
            signal.signal(signal.SIGALRM, before)
        other.join(_SECONDS)
        shown = [head["mediaType"] for head in self._seen() if head["type"] == "display"]
        self.assertEqual(sorted(shown), ["text/x-alarm", "text/x-thread", "text/x-thread"])
        self.assertFalse(other.is_alive())

    def test_an_interrupt_in_the_middle_of_a_display_leaves_nothing_locked(self) -> None:
        def on_alarm(_number: int, _frame: object) -> None:
            self.supervisor.go.set()
            if not self.link.postpone_interrupt():
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self._with_alarm(on_alarm, [("text/x-a", bytes(_LARGE))])
        thread = threading.Thread(target=self.screen.show, args=([("text/x-after", b"")],))
        thread.start()
        thread.join(_SECONDS)
        self.assertEqual(self._seen()[-1]["mediaType"], "text/x-after")

    def test_a_child_that_is_forked_during_a_display_is_not_locked(self) -> None:
        thread = threading.Thread(target=self.screen.show, args=([("text/x-a", bytes(_LARGE))],))
        thread.start()
        self._until_blocked()
        child = os.fork()
        if child == 0:
            signal.alarm(int(_SECONDS))  # ends a child that waits for the lock
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.screen.show([("text/plain", b"child")])
                self.screen.value("5", False, [("text/html", b"5")])
            os._exit(0 if printed.getvalue() == "child\n" else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.supervisor.go.set()
        thread.join(_SECONDS)
        self.assertEqual({head["mediaType"] for head in self._seen()}, {"text/x-a"})

    def _with_alarm(self, handler: object, parts: Parts) -> None:
        before = signal.signal(signal.SIGALRM, handler)  # type: ignore[arg-type]
        main = threading.get_ident()

        def interrupt() -> None:
            self._until_blocked()
            signal.pthread_kill(main, signal.SIGALRM)

        signaller = threading.Thread(target=interrupt)
        try:
            signaller.start()
            self.screen._send({}, parts)
        finally:
            signaller.join()
            signal.signal(signal.SIGALRM, before)

    def _until_blocked(self) -> None:
        """Waits until the socket holds no more: whichever thread sends a display is in the middle of it."""
        end = time.monotonic() + _SECONDS
        while select.select([], [self.link_end], [], 0)[1] and time.monotonic() < end:
            os.sched_yield()
