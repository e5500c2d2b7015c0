"""The questions of all kernels. Each kernel answers one at a time; kernels answer independently."""

from __future__ import annotations

from typing import Callable, Optional

from ..languages.table import PYTHON, kernel_of
from ..wire.frames import Frame, Head
from .ladder import GRACE_SECONDS
from .questions import KINDS, Questions


class AllQuestions:
    """Serves questions and `question.cancel`. `make` creates the questions of one kernel."""

    def __init__(self, make: Callable[[], Questions]) -> None:
        self._make = make
        self._grace_seconds = GRACE_SECONDS
        self._questions: dict[str, Questions] = {}
        self.requests: dict[str, Callable[[Frame], Optional[Head]]] = {kind: self._ask for kind in KINDS if kind != "variables.set"}
        self.requests["question.cancel"] = self._cancel

    @property
    def under_way(self) -> bool:
        return any(questions.under_way for questions in self._questions.values())

    def grace(self, seconds: float) -> None:
        """Sets the time between two rungs of the ladder, before the first question."""
        self._grace_seconds = seconds

    def of(self, kernel: str) -> Questions:
        """Returns the questions of the kernel with that name."""
        questions = self._questions.get(kernel)
        if questions is None:
            questions = self._questions[kernel] = self._make()
            questions.grace_seconds = self._grace_seconds
        return questions

    def asked_by(self, frame: Frame) -> Questions:
        """Returns the questions of the kernel that a request is for. `Questions.ask` refuses a language without one."""
        return self.of(kernel_of(str(frame.head.get("language") or PYTHON), None) or PYTHON)

    def give_up(self, code: str, message: str) -> None:
        """Fails all questions, because all kernels are being ended."""
        for questions in self._questions.values():
            questions.give_up(code, message)

    def abandon(self, then: Callable[[], None]) -> None:
        """Withdraws every question, because the host that asked is gone, and calls `then` after each."""
        self.of(PYTHON)  # so that there is at least one
        for questions in self._questions.values():
            questions.abandon(then)

    def _ask(self, frame: Frame) -> None:
        self.asked_by(frame).ask(frame, str(frame.head["type"]))

    def _cancel(self, frame: Frame) -> Head:
        for questions in self._questions.values():
            questions.cancel(frame.head.get("target"))
        return {}
