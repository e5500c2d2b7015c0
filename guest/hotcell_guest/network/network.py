"""The network of a sandbox: its listeners, its connections, its files. None of them exists before the host asks for it."""

from __future__ import annotations

import socket
from typing import Any, Callable, Mapping, Optional

from ..kernels.process import KernelProcess
from ..system.loop import Loop
from ..wire.channel import Channel
from ..wire.open_calls import OpenCalls
from .connection import Connection, NetworkSurroundings
from .files import NetworkFiles
from .greeting import Asked
from .listener import Listener
from .request import NetworkRequest
from .variables import Changes, NetworkVariables

MOST_CONNECTIONS = 256
# Connections that are accepted beyond that, to hear what they want and to be told. Further ones wait.
_MOST_TOLD = 32
# Connections with a wide window. SECURITY: what they hold for programs that stop reading is memory of the supervisor.
_MOST_WIDE = 8
_LOST = "the channel to the host was lost"


class Network:
    """The supervisor owns exactly one. `preload` returns the script that makes Node use the proxy."""

    def __init__(self, loop: Loop, channel: Channel, calls: OpenCalls, preload: Callable[[], bytes]) -> None:
        self._loop = loop
        self._around = NetworkSurroundings(loop, channel, calls, self._take_place, self._take_width, self._on_end)
        self._preload = preload
        self._listeners: dict[str, Listener] = {}
        self._connections: set[Connection] = set()
        self._places = MOST_CONNECTIONS
        self._widths = _MOST_WIDE
        self._variables = NetworkVariables()
        self._files: Optional[NetworkFiles] = None

    def replace(self, head: dict[str, Any], bundle: bytes, environment: Mapping[str, str]) -> tuple[dict[str, int], Changes]:
        """Serves the host's request: opens its listeners, closes all others with their connections, and replaces the files. Returns the
        ports, and what changes in the environment. Raises OSError if a file cannot be written or a port not be had; then nothing has
        changed."""
        request = NetworkRequest.from_message(head)
        paths = self._write_files(request, bundle)
        ports = self._open(request.listen)
        if ports:
            self._around.channel.widen()
        for name, listener in self._listeners.items():
            if name not in request.listen:
                self._close(listener)
        places = {**{name: str(port) for name, port in ports.items()}, **paths}
        return ports, self._variables.replace(request.variables, places, environment)

    def tell(self, kernel: KernelProcess) -> None:
        """Sends a kernel the variables that have changed since it was last told, before it gets its next execution."""
        changes = self._variables.since(kernel.network_version)
        kernel.network_version = self._variables.version
        if changes:
            kernel.send({"type": "environment", "variables": changes})

    def mend_files(self) -> None:
        if self._files is not None:
            self._files.mend()

    def remove_files(self) -> None:
        """For a guest without a file system of its own (in tests)."""
        if self._files is not None:
            self._files.remove()

    def lose_channel(self, tell_host: bool = True) -> None:
        """Ends all connections that the host knew of: it has ended them, too."""
        for connection in list(self._connections):
            if connection.is_asked:
                connection.fail("channel-lost", _LOST, tell_host)

    def _write_files(self, request: NetworkRequest, bundle: bytes) -> dict[str, str]:
        contents = {"ca": bundle} if bundle else {}
        if any("{preload}" in value for value in request.variables.values()):
            contents["preload"] = self._preload()
        if self._files is None:
            if not contents:
                return {}
            self._files = NetworkFiles()
        return self._files.replace(contents)

    def _open(self, wanted: dict[str, str]) -> dict[str, int]:
        made = []
        try:
            for name in wanted.keys() - self._listeners.keys():
                made.append(Listener(self._loop, name, self._accepted, self._has_room))
        except OSError:
            for listener in made:
                listener.discard()
            raise
        self._listeners.update({listener.name: listener for listener in made})
        for name, kind in wanted.items():
            self._listeners[name].open(kind)
        return {name: self._listeners[name].port for name in wanted}

    def _close(self, listener: Listener) -> None:
        listener.close()
        for connection in list(self._connections):
            if connection.listener == listener.name:
                connection.close()

    def _accepted(self, listener: Listener, sock: socket.socket) -> None:
        connection = Connection(self._around, sock, listener.name)
        self._connections.add(connection)
        if listener.kind == "proxy":
            connection.greet()
        elif listener.kind == "forward":
            connection.ask(Asked("network.forward", {"name": listener.name}, "bytes", b""))
        else:
            connection.ask(Asked("network.credentials", {}, "http", b""))

    def _has_room(self) -> bool:
        return len(self._connections) < MOST_CONNECTIONS + _MOST_TOLD

    def _take_place(self) -> bool:
        if self._places == 0:
            return False
        self._places -= 1
        return True

    def _take_width(self) -> bool:
        if self._widths == 0:
            return False
        self._widths -= 1
        return True

    def _on_end(self, connection: Connection) -> None:
        was_full = not self._has_room()
        self._connections.discard(connection)
        self._places += connection.has_place
        self._widths += connection.is_wide
        if was_full:
            for listener in self._listeners.values():
                listener.listen()
