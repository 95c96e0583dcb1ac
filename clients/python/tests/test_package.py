"""What is published: types, README, wheel."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path
from unittest.mock import patch

import redis_rank
from support import CLUSTER_URL, URL, Case, address, flush_all

ROOT = Path(__file__).parent.parent


class Package(unittest.TestCase):
    def test_types(self) -> None:
        cache = ROOT.parent.parent / ".servers/mypy"
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), "src/redis_rank", "tests/usage.py"]
        environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @unittest.skipIf(sys.version_info < (3, 11), "inspect.getmembers_static")
    def test_what_is_made_from_other_files_is_up_to_date(self) -> None:
        # In a process of its own, so that it sees the files as they are.
        for name in ("src/redis_rank/sync.py", "METHODS.md"):
            made = self.run_in(ROOT, "-c", f"import generate; print(generate.MADE[generate.ROOT / {name!r}](), end='')")
            self.assertEqual(made, (ROOT / name).read_text(), "run python generate.py")

    def run_in(self, directory: Path | str, *command: object) -> str:
        paths = [str(Path(path).absolute()) for path in sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        command = (sys.executable, *command)
        result = subprocess.run([*map(str, command)], cwd=directory, env=environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_it_can_be_published(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.run_in(ROOT, "-m", "build", "--no-isolation", "--outdir", directory)
            [wheel] = Path(directory).glob("redis_rank-*-py3-none-any.whl")
            [sdist] = Path(directory).glob("redis_rank-*.tar.gz")
            checked = self.run_in(directory, "-m", "twine", "check", "--strict", wheel, sdist)
            self.assertEqual(checked.count("PASSED"), 2)
            with zipfile.ZipFile(wheel) as archive:
                names = set(archive.namelist())
                [about] = [archive.read(name).decode() for name in names if name.endswith("METADATA")]
            with tarfile.open(sdist) as source:
                self.assertTrue(any(name.endswith("/LICENSE") for name in source.getnames()))
        modules = {f"redis_rank/{path.name}" for path in (ROOT / "src/redis_rank").iterdir() if path.is_file()}
        self.assertIn("redis_rank/py.typed", modules)
        self.assertEqual({name for name in names if name.startswith("redis_rank/")}, modules)
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))
        for line in ("Author: ", "License-Expression: MIT", "Project-URL: Source", "Requires-Python: >=3.10"):
            self.assertIn("\n" + line, about)

    def test_it_can_be_installed_from_the_repository(self) -> None:
        repository = ROOT.parent.parent
        sources = [str(ROOT)]
        if (repository / ".git").exists() and shutil.which("git"):
            sources.append(f"git+file://{repository}#subdirectory=clients/python")
        for source in sources:
            with self.subTest(source), tempfile.TemporaryDirectory() as directory:
                # The tools for it are here already.
                options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target", directory]
                self.run_in(directory, "-m", "pip", "install", *options, source)
                program = "import redis_rank; print(redis_rank.__file__, redis_rank.Worker.__name__)"
                shown = self.run_in(directory, "-c", program)
                self.assertEqual(shown, f"{Path(directory).resolve()}/redis_rank/__init__.py Worker\n")

    def test_the_benchmark_runs(self) -> None:
        environment = {**os.environ, "BENCH_ROUNDS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(ROOT / "bench.py"), os.environ["REDIS_URL"]]
        shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
        self.assertRegex(shown, "asyncio +top")


RUN = redis_rank.Worker.run


def work_a_while(worker: redis_rank.Worker) -> None:
    threading.Timer(1, worker.stop).start()
    RUN(worker)


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
            code = block.replace("redis.Redis(", "redis.Redis.from_url(URL, ")
            # Only where the cluster is.
            code = code.replace('host="localhost", port=7001', f"port={address(CLUSTER_URL)['port']}, host='127.0.0.1'")
            with self.subTest(block), contextlib.redirect_stdout(shown), patch.object(redis_rank.Worker, "run", work_a_while):
                exec(code, {"URL": URL, "CLUSTER_URL": CLUSTER_URL})
            self.assertEqual(shown.getvalue().splitlines(), said)
