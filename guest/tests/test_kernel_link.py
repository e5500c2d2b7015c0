"""A kernel's end of its private socket, when the other end goes."""

from __future__ import annotations

import os
import signal
import socket
import unittest

from hotcell_guest.kernels.link import Link


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
