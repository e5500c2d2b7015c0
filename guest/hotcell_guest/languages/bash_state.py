"""What a bash that ends hands to the next one: variables, functions, options, aliases, traps, the current folder."""

from __future__ import annotations

import os


class BashState:
    """Kept in memory of this process. A bash that leaves by `exit`, `set -e`, an error or a signal writes it from its EXIT trap.

    What no other process can take over goes with it: the table of its jobs, and descriptors it opened.
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
        """A script: an EXIT trap that the code has set runs when the code is done, and ours is put back."""
        return f"{self._place}/{self._runner}"

    def lines_for_new_bash(self) -> list[str]:
        """Orders for a bash that has just begun. It takes over what was saved."""
        lines = [f"trap '{self._trap}' EXIT"]
        if self.is_saved():
            lines = [f". {self._place}/{fd} 2>/dev/null" for fd in (self._state, self._options)] + lines
        return lines

    def forget(self) -> None:
        """An execution begins: what was saved before it is not what a bash that ends now leaves."""
        os.ftruncate(self._state, 0)

    def is_saved(self) -> bool:
        size = os.fstat(self._state).st_size
        return size > 0 and os.pread(self._state, 16, max(0, size - 16)).endswith(_WHOLE)


_WHOLE = b"\n# whole\n"


def _script(text: str) -> int:
    fd = os.memfd_create("script")
    os.write(fd, text.encode())
    return fd


# Options first, in a file of their own: they come last to the new bash, and some of them would get in the way here.
# A variable of a function hides the one of its caller: each is written and removed, and what it hid is written next: the outermost wins.
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
