"""Questions that one idle kernel answers, one at a time (docs/guest-protocol.md, section 9). None can hang the supervisor or its host."""

from __future__ import annotations

import os
import signal
from typing import Callable, Optional, Protocol

from ..kernels.process import KernelProcess
from ..system.loop import Loop, Timer
from ..wire.frames import Frame, Head
from ..wire.refusal import Refusal
from ..wire.replies import Fail, Reply
from .ladder import GRACE_SECONDS

KINDS = frozenset({"complete", "inspect", "variables.list", "variables.get", "variables.set"})
_DEFAULT_MS = 2_000
_LEAST_MS, _MOST_MS = 100, 60_000
# SECURITY: a question must fit into the socket's buffer, or a kernel that only seems idle would block the supervisor.
_MAX_QUESTION_BYTES = 65_536
_MAX_MESSAGE_CHARS = 2_000
_CODES = frozenset({"not-offered", "bad-request", "no-variable", "raised", "too-long", "no-package", "cancelled"})


class Askable(Protocol):
    """The kernels (askable_kernels.py): which ones are idle, and what a question may cost them."""

    def idle_kernel(self, language: str) -> Optional[KernelProcess]:
        """Returns the kernel of a language, up or not; None while there is none. Raises Refusal if it is busy, or the language unknown."""

    def has_begun_work(self, kernel: KernelProcess) -> None:
        """Records that the kernel runs user code from now on."""

    def watch_answering(self, kernel: KernelProcess, is_under_way: Callable[[], bool]) -> None:
        """Watches the memory as during an execution, because a question may run user code."""

    def lose(self, kernel: KernelProcess, why: str) -> None:
        """Ends a kernel that did not return from a question; the next execution reports why."""


class _Question:
    def __init__(self, number: int, request: int, head: Head, body: bytes, *, fds: tuple[int, ...], timeout_seconds: float) -> None:
        self.number = number
        self.id: Optional[int] = request
        self.head = head
        self.body = body
        self.fds = fds
        self.timeout_seconds = timeout_seconds
        self.kernel: Optional[KernelProcess] = None
        self.timer: Optional[Timer] = None
        self.withdrawn = False


class Questions:
    """The questions of one kernel (all_questions.py has one for each). `executions.py` reports the state of the kernel."""

    def __init__(self, loop: Loop, kernels: Askable, reply: Reply, fail: Fail) -> None:
        self._loop = loop
        self._kernels = kernels
        self._reply = reply
        self._fail = fail
        self.grace_seconds = GRACE_SECONDS
        self._current: Optional[_Question] = None
        self._count = 0
        self._afterwards: list[Callable[[], None]] = []

    @property
    def under_way(self) -> bool:
        return self._current is not None

    def after_this(self, then: Callable[[], None]) -> None:
        """Calls `then` once no question is under way."""
        if self._current is None:
            then()
        else:
            self._afterwards.append(then)

    def ask(self, frame: Frame, kind: str, fds: tuple[int, ...] = ()) -> None:
        """Asks the kernel, now or when it is up. `fds` are closed in any case. Raises Refusal and ValueError for an invalid question."""
        try:
            question = self._checked(frame, kind, fds)
            question.kernel = self._kernels.idle_kernel(_language_of(frame))
        except BaseException:
            _close(fds)
            raise
        self._current = question
        if question.kernel is not None and question.kernel.is_up:
            self.kernel_up(question.kernel)

    def require_free(self, frame: Frame, kind: str) -> None:
        """Refuses now a question that would be refused later, when its content has arrived."""
        self._checked(frame, kind, ())
        self._kernels.idle_kernel(_language_of(frame))

    def kernel_up(self, kernel: KernelProcess) -> None:
        """Called when a kernel is up. Asks a waiting question."""
        question = self._current
        if question is None or question.timer is not None:
            return
        question.kernel = kernel
        # The kernel stops by itself first. With the default timeout the answer comes within the five seconds that a host waits.
        stops_by_itself = question.timeout_seconds + self.grace_seconds / 2
        question.timer = self._loop.call_later(stops_by_itself, lambda: self._interrupt(question))
        if question.head["kind"] in ("variables.get", "variables.set"):
            self._kernels.has_begun_work(kernel)
        if question.head["kind"] not in ("complete", "inspect"):
            self._kernels.watch_answering(kernel, lambda: self._current is question)
        kernel.send(question.head, question.body, question.fds)
        _close(question.fds)
        question.fds = ()

    def answered(self, kernel: KernelProcess, frame: Frame) -> None:
        """Handles an answer. SECURITY: user code may have written it. Only the form is checked here; the host checks the rest."""
        question = self._current
        if question is None or question.kernel is not kernel or frame.head.get("question") != question.number:
            return
        head = frame.head
        if question.withdrawn:
            self._end("cancelled", f"{question.head['kind']}: withdrawn")
        elif head.get("ok") is True:
            self._done()
            if question.id is not None:
                self._reply(question.id, {}, frame.body)
        else:
            code, message = head.get("code"), head.get("message")
            # A string or nothing: a deeply nested value could not even be printed.
            said = message[:_MAX_MESSAGE_CHARS] if isinstance(message, str) else ""
            self._end(code if isinstance(code, str) and code in _CODES else "raised", said)

    def kernel_died(self, kernel: KernelProcess, how: str) -> bool:
        """Returns whether it died during a question."""
        question = self._current
        if question is None or question.kernel is not kernel or question.timer is None:
            return False
        self._end("kernel-lost", f"{question.head['kind']}: the kernel ended before it answered ({how}); its variables are gone")
        return True

    def give_up(self, code: str, message: str) -> None:
        """Fails the question: no kernel could be started, or all are being ended."""
        if self._current is not None:
            self._end(code, message)

    def abandon(self, then: Callable[[], None]) -> None:
        """Withdraws the question, because the host is gone, and calls `then` once none is under way."""
        question = self._current
        if question is not None:
            question.id = None
            self._withdraw(question)
        self.after_this(then)

    def _checked(self, frame: Frame, kind: str, fds: tuple[int, ...]) -> _Question:
        if self._current is not None:
            raise Refusal("busy", f"{kind}: the kernel is answering another question")
        if len(frame.body) > _MAX_QUESTION_BYTES:
            raise Refusal("bad-request", f"{kind}: {len(frame.body)} bytes are too many, at most {_MAX_QUESTION_BYTES}")
        timeout_ms = frame.head.get("timeoutMs") or _DEFAULT_MS
        if not isinstance(timeout_ms, int) or not _LEAST_MS <= timeout_ms <= _MOST_MS:
            raise Refusal("bad-request", f"{kind}: timeoutMs is a whole number from {_LEAST_MS} to {_MOST_MS}")
        self._count += 1
        members = {name: value for name, value in frame.head.items() if name not in ("id", "type", "stream", "language")}
        head = {**members, "type": "question", "kind": kind, "question": self._count, "timeoutMs": timeout_ms}
        return _Question(self._count, int(frame.head["id"]), head, frame.body, fds=fds, timeout_seconds=timeout_ms / 1000)

    def cancel(self, target: object) -> None:
        """Withdraws the question of that request."""
        question = self._current
        if question is not None and question.id == target:
            self._withdraw(question)

    def _withdraw(self, question: _Question) -> None:
        if question.withdrawn:
            return
        question.withdrawn = True
        if question.timer is None:
            self._end("cancelled", f"{question.head['kind']}: withdrawn")
        else:
            question.timer.cancel()
            self._interrupt(question)

    def _interrupt(self, question: _Question) -> None:
        """Interrupts the kernel alone and not its group: a question must not disturb the session's background processes."""
        if self._current is not question or question.kernel is None:
            return
        if question.kernel.pid is not None:
            try:
                os.kill(question.kernel.pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        question.timer = self._loop.call_later(self.grace_seconds, lambda: self._kill(question))

    def _kill(self, question: _Question) -> None:
        if self._current is question and question.kernel is not None:
            self._kernels.lose(question.kernel, f"its kernel did not answer ({question.head['kind']}) and was ended")

    def _end(self, code: str, message: str) -> None:
        question = self._done()
        if question.id is not None:
            self._fail(question.id, code, message)

    def _done(self) -> _Question:
        question = self._current
        assert question is not None
        self._current = None
        if question.timer is not None:
            question.timer.cancel()
        _close(question.fds)
        afterwards, self._afterwards = self._afterwards, []
        for then in afterwards:
            self._loop.soon(then)
        return question


def _language_of(frame: Frame) -> str:
    return str(frame.head.get("language") or "python")


def _close(fds: tuple[int, ...]) -> None:
    for fd in fds:
        os.close(fd)
