"""A TCP proxy that can break the connection around one command."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal

Break = Literal["before", "middle", "after"]


class Proxy:
    """Forwards to a port. Once armed, it breaks the next connection that sends `word`: before the command reaches the
    server, in the middle of it, or when the server has replied, whose reply is lost.

    It can be a black hole, which swallows what both sides send; hold back what clients send until it is released; or be
    cut, with all connections closed and new ones refused.
    """

    def __init__(self, upstream: int):
        self.upstream = upstream
        self.armed: tuple[Break, bytes] | None = None
        self.is_hole = self.is_cut = False
        self.is_released = threading.Event()
        self.is_released.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self.is_cut = True
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self.is_hole = self.is_cut = False
        self.is_released.set()

    def arm(self, how: Break, word: str) -> None:
        self.armed = how, word.encode()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                if self.is_cut:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self.upstream))
                except OSError:
                    client.close()
                    continue
                self._sockets += [client, server]
                lose_replies = threading.Event()
                for source, target, is_command in ((client, server, True), (server, client, False)):
                    arguments = (source, target, is_command, lose_replies)
                    threading.Thread(target=self._forward, args=arguments, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_command: bool, lose_replies: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.is_hole:
                    continue
                if is_command:
                    self.is_released.wait()
                if is_command and self.armed and self.armed[1] in data:
                    how, self.armed = self.armed[0], None
                    if how == "after":
                        lose_replies.set()
                    else:
                        if how == "middle":
                            target.sendall(data[: len(data) // 2])
                        break
                if not is_command and lose_replies.is_set():
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.close()
        self.mend()
        for end in self._sockets:
            end.close()
