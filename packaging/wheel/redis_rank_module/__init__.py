"""The module redis-rank for Redis and Valkey, as a file that a server can load."""

from pathlib import Path


def path() -> str:
    """The path of the module, for `loadmodule` in redis.conf."""
    return str(Path(__file__).with_name("libredis_rank.so"))
