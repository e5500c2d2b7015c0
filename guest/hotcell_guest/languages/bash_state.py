"""The state that a bash which ends passes to the next: variables, functions, options, aliases, traps, the current folder."""

from __future__ import annotations

import os


class BashState:
    """Kept in memory of this process. A bash that ends by `exit`, `set -e`, an error or a signal writes it from its EXIT trap.

    Lost with it are its job table and the descriptors it opened, which no other process can take over.
    """

    def __init__(self, place: str) -> None:
        self._options = os.memfd_create("options")
        self._state = os.memfd_create("state")
        self._save = _script(_SAVE.format(options=f"{place}/{self._options}", state=f"{place}/{self._state}"))
        self._trap = f". {place}/{self._save}"
        self._runner = _script(_RUN_EXIT_TRAP.replace("{trap}", self._trap))
        self._place = place

    @property
    def exit_trap_runner(self) -> str:
        """Path of a script that runs the code's own EXIT trap when the code is done, and restores the kernel's."""
        return f"{self._place}/{self._runner}"

    def lines_for_new_bash(self) -> list[str]:
        """Orders for a new bash, which restore the saved state."""
        lines = [f"trap '{self._trap}' EXIT"]
        if self.is_saved():
            lines = [f". {self._place}/{fd} 2>/dev/null" for fd in (self._state, self._options)] + lines
        return lines

    def forget(self) -> None:
        """Called when an execution begins: the state saved before it is outdated."""
        os.ftruncate(self._state, 0)

    def is_saved(self) -> bool:
        size = os.fstat(self._state).st_size
        return size > 0 and os.pread(self._state, 16, max(0, size - 16)).endswith(_WHOLE)


_WHOLE = b"\n# whole\n"


def _script(text: str) -> int:
    fd = os.memfd_create("script")
    os.write(fd, text.encode())
    return fd


# Options first, in a file of their own: the new bash sets them last, and some of them would get in the way here.
# A local variable hides that of its caller: each is written and unset, then the hidden one is written, so that the outermost wins.
_SAVE = r"""{{
{{ \builtin set +o; \builtin shopt -p; }} >{options}
\builtin set +eux
_hotcell_save() {{
  \builtin compgen -v | while IFS= \builtin read -r _hotcell; do
    case $_hotcell in
      _|_hotcell*|BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTIND) continue ;;
      PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID) continue ;;
    esac
    for _hotcell_depth in {{1..50}}; do
      \builtin declare -p "$_hotcell" || break
      [[ -R $_hotcell ]] || \builtin unset -v "$_hotcell" || break
    done
  done
}}
{{
  _hotcell_save
  \builtin unset -f _hotcell_save
  \builtin declare -f
  \builtin declare -Fx
  \builtin alias -p
  \builtin umask -p
  \builtin trap -p
  \builtin printf 'cd -- %q\n# whole\n' "$PWD"
}} >{state}
}} 2>/dev/null
"""

_RUN_EXIT_TRAP = r"""\builtin eval "_hotcell=($(\builtin trap -p EXIT))"
\builtin trap '{trap}' EXIT
if [[ ${_hotcell[2]-} == '{trap}' ]]; then \builtin unset _hotcell
else \builtin eval "\\builtin unset _hotcell; ${_hotcell[2]-}"
fi
"""
