"""Which kernel runs which language, and how that kernel is started. A language is one line here, and so is a kernel."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ..kernels.fork import fork_kernel
from ..kernels.process import Started
from ..system.limits import Limits
from ..system.loop import Loop

PYTHON = "python"
RECIPES = "recipes"
# Each command has a kernel of its own.
COMMAND = "command"

# Languages with the same kernel share its state.
_KERNELS = {
    "python": PYTHON,
    "bash": "bash",
    "javascript": "node",
    "typescript": "node",
    COMMAND: COMMAND,
}

_ANSWERING = frozenset({PYTHON, "node"})

Start = Callable[[Loop, Limits, str], Started]


def kernel_of(language: str, recipe: Optional[Any]) -> Optional[str]:
    """Returns the name of the kernel. A language with a recipe needs no kernel of its own."""
    return RECIPES if recipe is not None else _KERNELS.get(language)


def answers_questions(kernel: str) -> bool:
    """Whether the kernel answers questions: completion, variables and the like (docs/guest-protocol.md, section 9)."""
    return kernel in _ANSWERING


def starter_of(kernel: str) -> Start:
    """Returns the function that starts a kernel other than Python's."""
    return _STARTS[kernel]


def _start_bash(_loop: Loop, limits: Limits, workspace: str) -> Started:
    from .bash import serve

    return fork_kernel(limits, workspace, serve, has_helper=True)


def _start_recipes(_loop: Loop, limits: Limits, workspace: str) -> Started:
    from .recipes import serve

    return fork_kernel(limits, workspace, serve)


def _start_command(_loop: Loop, limits: Limits, workspace: str) -> Started:
    from .command import serve

    return fork_kernel(limits, workspace, serve, runs_commands=True)


def _start_node(loop: Loop, limits: Limits, workspace: str) -> Started:
    from .node import start_node

    return start_node(loop, limits, workspace)


# Without Python's kernel, which comes from a stage with preloads. A line here uses `start_program` or `fork_kernel` of kernels/fork.py.
_STARTS: dict[str, Start] = {
    "bash": _start_bash,
    RECIPES: _start_recipes,
    "node": _start_node,
    COMMAND: _start_command,
}
