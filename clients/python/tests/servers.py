"""Servers with the module, for the tests: REDIS_RANK_SO, or target/release of this repository, or an installed module."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

REPOSITORY = Path(__file__).resolve().parents[3]
# A busy machine is no reason to fail.
DEADLINE = 60.0


def module() -> Path | None:
    suffix = "dylib" if sys.platform == "darwin" else "so"
    built = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release" / f"libredis_rank.{suffix}"
    installed = Path("/usr/lib/redis/modules") / f"libredis_rank.{suffix}"
    given = os.environ.get("REDIS_RANK_SO")
    return next((path for path in ([Path(given)] if given else [built, installed]) if path.is_file()), None)


def program() -> str | None:
    given = os.environ.get("REDIS_SERVER")
    if given and "/" in given:
        given = str((REPOSITORY / given).absolute())
    return shutil.which(given or "redis-server") or shutil.which("valkey-server")


def why_not() -> str | None:
    """What is missing to run the tests."""
    if not module():
        return "no module: run `cargo build --release` first, or set REDIS_RANK_SO to libredis_rank.so"
    if not program():
        return "no redis-server or valkey-server in PATH: install one, or set REDIS_SERVER"
    return None


def free_port() -> int:
    # A cluster's bus takes the port 10,000 above.
    while True:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port: int = listener.getsockname()[1]
        with contextlib.suppress(OSError, OverflowError), socket.create_server(("127.0.0.1", port + 10_000)):
            return port


def wait_for(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + DEADLINE
    while True:
        try:
            if result := condition():
                return result
        except redis.RedisError:
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"in {DEADLINE} s: {condition}")
        time.sleep(0.02)


class Server:
    """A server on a port of its own, in a directory of its own."""

    def __init__(self, *options: str):
        self.options = options
        self._directory = tempfile.mkdtemp(prefix="redis-rank-")
        for attempt in range(10):
            self.port = free_port()
            try:
                return self.start()
            except RuntimeError as error:
                # Somebody else was faster.
                if "Address already in use" not in str(error) or attempt == 9:
                    raise

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [
            program(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._directory, "--save", "",
            "--loadmodule", str(module()), *self.options,
        ]  # fmt: skip
        log = open(Path(self._directory) / "log", "wb")
        self.process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        with self.client() as client:
            wait_for(lambda: self.process.poll() is not None or client.ping())
        if self.process.poll() is not None:
            raise RuntimeError((Path(self._directory) / "log").read_text())

    def client(self, **options: Any) -> Any:
        return redis.Redis.from_url(self.url, **options)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)


class Cluster:
    """Three primaries, each with a replica if wanted."""

    def __init__(self, replicas: bool = True, *options: str):
        options = ("--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0", *options)
        self.nodes = [Server(*options) for _ in range(6 if replicas else 3)]
        clients = [node.client() for node in self.nodes]
        bounds = [0, 5461, 10923, 16384]
        for at, client in enumerate(clients):
            if at < 3:
                client.execute_command("CLUSTER ADDSLOTSRANGE", bounds[at], bounds[at + 1] - 1)
            clients[0].execute_command("CLUSTER MEET", "127.0.0.1", self.nodes[at].port)
        wait_for(lambda: all(client.execute_command("CLUSTER INFO")["cluster_known_nodes"] == str(len(clients)) for client in clients))
        for at, client in enumerate(clients[3:]):
            primary = clients[at].execute_command("CLUSTER MYID").decode()
            wait_for(lambda: client.execute_command("CLUSTER REPLICATE", primary))
        wait_for(lambda: all(self._is_complete(client) for client in clients))
        for client in clients:
            client.close()

    def _is_complete(self, client: Any) -> bool:
        client.flushall() if client.info("replication")["role"] == "master" else None
        slots = client.execute_command("CLUSTER SLOTS")
        # A replica that has replicated nothing yet is not shown to clients.
        nodes = {node[1] for part in slots for node in part[2:]}
        return (
            client.execute_command("CLUSTER INFO")["cluster_state"] == "ok" and len(slots) == 3
            and len(nodes) == len(self.nodes)
        )  # fmt: skip

    @property
    def url(self) -> str:
        return self.nodes[0].url

    def close(self) -> None:
        for node in self.nodes:
            node.close()
