"""Which names of a namespace an execution added, rebound or deleted.

Compared by identity: no user code runs, and no value is kept alive. A value that was changed in place is still bound to
its name, and not reported.
"""

from __future__ import annotations

import opcode
import operator
import weakref
from itertools import compress
from types import CodeType, ModuleType
from typing import Any, Callable, Iterator, Optional

from ..objects.static_lookup import is_one_of
from ..wire.name_changes import Changes, bounded

# Above this number only names that the code itself assigns are compared, so that the cost stays below a tenth of a
# millisecond.
MOST_COMPARED = 1_000
_MOST_SMALL = 1_000

_ABSENT = object()
_NUMBERS = frozenset({int, float, complex, bool, type(None)})
_STORES = bytes(opcode.opmap[name] for name in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"))
_GLOBAL_STORES = bytes(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))

_IsSame = Callable[[Any], bool]


class Bindings:
    """Watches one namespace. The shell reports each piece of code before it runs, and asks for the changes at the end.

    `hidden` returns names with values that are not variables of the user.
    """

    def __init__(self, namespace: dict[Any, Any], hidden: Callable[[], dict[str, Any]] = dict) -> None:
        self._namespace = namespace
        self._hidden = hidden
        self._names: Optional[tuple[Any, ...]] = ()
        self._ids: tuple[int, ...] = ()
        self._assigned: dict[str, _IsSame] = {}
        self._may_differ = False
        self.accept()

    def accept(self) -> None:
        """Takes the current namespace as the base."""
        if len(self._namespace) > MOST_COMPARED:
            self._names, self._ids = None, ()
        else:
            self._names = tuple(self._namespace)
            # Ids instead of values, so that values which the user deletes are freed.
            self._ids = tuple(map(id, self._namespace.values()))
        self._assigned = {}
        self._may_differ = False

    def will_run(self, code: CodeType) -> None:
        if not code.co_names and CodeType not in map(type, code.co_consts):
            return  # code without names cannot change any
        self._may_differ = True
        for name in assigned_names(code):
            if name not in self._assigned:
                value = self._namespace.get(name, _ABSENT)
                self._assigned[name] = _is_absent if value is _ABSENT else _still(value)

    def changes(self) -> Optional[Changes]:
        """The changes since the last call; None if there are none. `omitted` is -1 if not everything was compared."""
        if not self._may_differ:
            return None
        before, ids_before, assigned = self._names, self._ids, self._assigned
        self.accept()
        try:
            if before is None or self._names is None:
                return self._assigned_only(assigned)
            if self._ids == ids_before and self._names == before and not assigned:
                return None
            return self._compared(before, ids_before, assigned)
        except Exception:  # noqa: BLE001 - names of a user's class, inserted by hand: comparing them runs its code
            return None

    def _compared(self, before: tuple[Any, ...], ids_before: tuple[int, ...], assigned: dict[str, _IsSame]) -> Optional[Changes]:
        names, namespace = self._names or (), self._namespace
        if names == before:
            added, deleted = [], []
            rebound = set(compress(names, map(operator.ne, self._ids, ids_before)))
        else:
            known = dict(zip(before, ids_before))
            added = [name for name in names if name not in known]
            rebound = {name for name, now in zip(names, self._ids) if known.get(name, now) != now}
            deleted = [name for name in before if name not in namespace]
        fresh = set(added)
        for name, is_same in assigned.items():
            # An address may have been reused: the code assigns this name, and the value is not known to be the same.
            if name in namespace and name not in fresh and not is_same(namespace[name]):
                rebound.add(name)
        return self._bounded(added, [name for name in names if name in rebound] if rebound else [], deleted, 0)

    def _assigned_only(self, assigned: dict[str, _IsSame]) -> Optional[Changes]:
        added, rebound, deleted = [], [], []
        for name, is_same in assigned.items():
            value = self._namespace.get(name, _ABSENT)
            if value is _ABSENT:
                if is_same is not _is_absent:
                    deleted.append(name)
            elif is_same is _is_absent:
                added.append(name)
            elif not is_same(value):
                rebound.append(name)
        return self._bounded(added, rebound, deleted, -1)

    def _bounded(self, added: list[Any], rebound: list[Any], deleted: list[Any], omitted: int) -> Optional[Changes]:
        found = {"added": self._visible(added), "rebound": self._visible(rebound), "deleted": _plain(deleted)}
        return bounded(found, omitted) if any(found.values()) else None

    def _visible(self, names: list[Any]) -> list[str]:
        """The names that a list of variables shows: no modules, nothing of IPython."""
        found = [(name, self._namespace.get(name)) for name in _plain(names)]
        hidden = self._hidden() if found else {}
        return [name for name, value in found if type(value) is not ModuleType and hidden.get(name, _ABSENT) is not value]


def assigned_names(code: CodeType) -> Iterator[str]:
    """Names that the code binds or deletes in its namespace, read from its instructions instead of its syntax tree."""
    yield from _stored(code, _STORES)
    waiting = [inner for inner in code.co_consts if type(inner) is CodeType]
    while waiting:
        inner = waiting.pop()
        yield from _stored(inner, _GLOBAL_STORES)
        waiting += [deeper for deeper in inner.co_consts if type(deeper) is CodeType]


def _stored(code: CodeType, stores: bytes) -> Iterator[str]:
    instructions = code.co_code
    operations, arguments = instructions[::2], instructions[1::2]
    for store in stores:
        at = operations.find(store)
        while at >= 0:
            argument, shift, before = arguments[at], 8, at - 1
            while before >= 0 and operations[before] == opcode.EXTENDED_ARG:
                argument |= arguments[before] << shift
                shift, before = shift + 8, before - 1
            if argument < len(code.co_names):
                yield code.co_names[argument]
            at = operations.find(store, at + 1)


def _is_absent(_value: Any) -> bool:
    return False


def _still(value: Any) -> Callable[[Any], bool]:
    """A test whether another value is this very one, without keeping it alive if that would cost memory."""
    kind = type(value)
    if is_one_of(kind, _NUMBERS) or (is_one_of(kind, (str, bytes)) and len(value) <= _MOST_SMALL):
        return lambda other: other is value
    try:
        reference = weakref.ref(value)
    except TypeError:
        return _is_absent  # a list, a dictionary or a tuple: unknown
    return lambda other: other is reference()


def _plain(names: list[Any]) -> list[str]:
    return [name for name in names if type(name) is str and not name.startswith("_")]
