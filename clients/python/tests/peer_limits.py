"""Runs the tests that PyPI's `limits` has for its Redis storages with the storages of redis_rank.limits instead.

    python peer_limits.py DIRECTORY REDIS_URL CLUSTER_URL

Its sources are fetched from PyPI into DIRECTORY, and what its tests need; nothing of it is kept in this repository.
Tests that look at the clock of a busy machine are tried up to three times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "5.8.0"
FILES = ["utils.py", "test_storage.py", "test_strategy.py", "storage/test_redis.py", "aio/test_storage.py", "aio/test_strategy.py", "aio/storage/test_redis.py"]
CONFTEST = '''
import sys
import pytest, redis
import redis_rank.limits

@pytest.fixture
def redis_basic():
    client = redis.Redis.from_url("{redis}")
    client.flushall()
    yield client

@pytest.fixture
def redis_cluster():
    client = redis.RedisCluster.from_url("{cluster}")
    client.flushall(target_nodes="primaries")
    yield client

def pytest_collection_modifyitems(items):
    def uri(item):
        return getattr(item, "callspec", None) and item.callspec.params.get("uri", "")
    items[:] = [item for item in items if uri(item) and "redis-rank" in uri(item)]
'''


def main(directory: Path, url: str, cluster_url: str) -> int:
    site, tests = directory / "site", directory / "tests"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # pip builds with what it fetches, not with what stands in the path.
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, "install", "--no-deps", "--target", site, "pytest-lazy-fixtures==1.4.1", "pytest-asyncio==1.5.0"], check=True, env=alone)
    # The tests are in the source only.
    subprocess.run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", directory, f"limits=={VERSION}"], check=True, env=alone)
    with tarfile.open(directory / f"limits-{VERSION}.tar.gz") as source:
        for file in FILES:
            text = source.extractfile(f"limits-{VERSION}/tests/{file}").read().decode()  # type: ignore[union-attr]
            text = text.replace("redis+cluster://localhost:7001/", cluster_url.replace("redis:", "redis-rank+cluster:"))
            text = text.replace("redis://localhost:7379", url.replace("redis:", "redis-rank:"))
            target = tests / file
            target.parent.mkdir(parents=True, exist_ok=True)
            (target.parent / "__init__.py").touch()
            target.write_text(text)
    (tests / "conftest.py").write_text(CONFTEST.format(redis=url, cluster=cluster_url))
    (directory / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    paths = os.pathsep.join([str(site), str(Path(__file__).parent.parent / "src"), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths, "ASYNC_REDIS_IMPLEMENTATION": "redispy"}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "-p", "pytest_asyncio", "tests"]
    for again in ([], ["--lf"], ["--lf"]):
        if (status := subprocess.run([*command, *again], cwd=directory, env=environment).returncode) == 0:
            return 0
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), *sys.argv[2:]))
