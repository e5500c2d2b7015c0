"""A kernel's end of its private socket: descriptors, and the end of the other side."""

from __future__ import annotations

import os
import signal
import socket
import unittest

from hotcell_guest.kernels.link import Link
from hotcell_guest.wire.frames import Frame, encode


class DescriptorsTest(unittest.TestCase):
    def test_they_belong_to_the_frame_that_they_came_with_although_one_read_takes_the_frame_before_it_too(self) -> None:
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        ours.sendall(encode(Frame({"type": "environment", "variables": {}})))
        socket.send_fds(ours, [encode(Frame({"type": "execute"}))], [0, 1])
        link = Link(theirs)
        received = [link.receive() for _ in range(2)]
        for _, fds in received:
            for fd in fds:
                os.close(fd)
        self.assertEqual([(frame.head["type"], len(fds)) for frame, fds in received], [("environment", 0), ("execute", 2)])


class EndTest(unittest.TestCase):
    def test_a_kernel_that_is_let_go_does_not_seem_to_have_exited_by_itself(self) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            Link(theirs).receive()
            os._exit(1)
        ours.close()
        theirs.close()
        status = os.waitpid(pid, 0)[1]
        self.assertEqual((os.WIFSIGNALED(status), os.WTERMSIG(status)), (True, signal.SIGKILL))
