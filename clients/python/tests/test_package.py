"""What is published: types, README, wheel."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from support import CLUSTER_URL, URL, Case, flush_all

ROOT = Path(__file__).parent.parent


class Package(unittest.TestCase):
    def test_types(self) -> None:
        cache = ROOT.parent.parent / ".servers/mypy"
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), "src/redis_rank", "tests/usage.py"]
        environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_wheel_is_complete(self) -> None:
        build = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
        with tempfile.TemporaryDirectory() as directory:
            command = [sys.executable, "-c", build, directory]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
            [wheel] = Path(directory).glob("redis_rank-*-py3-none-any.whl")
            with zipfile.ZipFile(wheel) as archive:
                names = set(archive.namelist())
        modules = {f"redis_rank/{path.name}" for path in (ROOT / "src/redis_rank").iterdir() if path.is_file()}
        self.assertIn("redis_rank/py.typed", modules)
        self.assertEqual({name for name in names if name.startswith("redis_rank/")}, modules)


class Readme(Case):
    def test_examples_print_what_they_say(self) -> None:
        # The README of the package, and the one of the module, which begins with ten lines of each kind.
        for readme in [ROOT / "README.md", ROOT.parent.parent / "README.md"]:
            self.run_examples_of(readme)

    def run_examples_of(self, readme: Path) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.M | re.S)
        self.assertLessEqual(len(blocks[0].splitlines()), 10)
        for block in blocks:
            flush_all()
            said = re.findall(r"^# (.*)$", block, re.M)
            shown = io.StringIO()
            code = block.replace("redis.Redis()", "redis.Redis.from_url(URL)")
            code = code.replace("RedisCluster()", "RedisCluster.from_url(CLUSTER_URL)")
            with self.subTest(block), contextlib.redirect_stdout(shown):
                exec(code, {"URL": URL, "CLUSTER_URL": CLUSTER_URL})
            self.assertEqual(shown.getvalue().splitlines(), said)
