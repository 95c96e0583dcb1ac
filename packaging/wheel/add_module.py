import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AddModule(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        # Any Python: the file is for the server, not for the interpreter.
        build_data["tag"] = f"py3-none-{os.environ['WHEEL_PLATFORM']}"
        build_data["force_include"][os.environ["REDIS_RANK_SO"]] = "redis_rank_module/libredis_rank.so"
