"""Starts a server and a cluster for the tests, unless REDIS_URL and REDIS_CLUSTER_URL name some."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

if os.environ.get("WITHOUT_HIREDIS"):
    # redis-py then reads replies in Python.
    sys.modules["hiredis"] = None  # type: ignore[assignment]

import servers  # noqa: E402

_started: list[Any] = []


def pytest_configure() -> None:
    if "REDIS_URL" in os.environ and "REDIS_CLUSTER_URL" in os.environ:
        return
    if missing := servers.why_not():
        raise pytest.UsageError(missing)
    _started.extend([servers.Server(), servers.Cluster()])
    os.environ["REDIS_URL"], os.environ["REDIS_CLUSTER_URL"] = (server.url for server in _started)


def pytest_unconfigure() -> None:
    while _started:
        _started.pop().close()
