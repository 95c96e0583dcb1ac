"""Writes what is made from other files: src/redis_rank/sync.py from asyncio.py, and METHODS.md from the docstrings.

    python generate.py

A test checks that it was run.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
SOURCE = ROOT / "src/redis_rank"
NOTE = "# Made by generate.py from asyncio.py: change that one.\n\n"
WORDS = {
    r"\bawait ": "",
    r"\basync (def|for|with) ": r"\1 ",
    r"\bCoroutine\[Any, Any, (\w+)\]": r"\1",
    r"\bCoroutine, ": "",
    r", Coroutine\b": "",
    r"\bAsyncIterator\b": "Iterator",
    r"\b_asynchronous\b": "_synchronous",
    r"\b__a(enter|exit)__": r"__\1__",
    r"\bTask(Keeper|Worker)\b": r"Thread\1",
    r"\bfrom \.tasks\b": "from .threads",
    r"\bAsync(Client)?\b": r"Sync\1",
    r"\bredis\.asyncio\.": "redis.",
}


def sync_half() -> str:
    text = (SOURCE / "asyncio.py").read_text()
    for pattern, replacement in WORDS.items():
        text = re.sub(pattern, replacement, text)
    return NOTE + text


def methods() -> str:
    sys.path.insert(0, str(ROOT / "src"))
    import redis_rank

    lines = ["# Methods", "", "Made by generate.py from the docstrings. With `redis_rank.asyncio`, put `await` before each call."]
    for kind in ("Leaderboard", "ShardedLeaderboard", "RateLimiter", "Reservation", "Lease", "Schedule", "DeadLetters", "Worker"):
        owner = getattr(redis_rank, kind, None) or getattr(redis_rank.sync, kind)
        lines += ["", f"## {kind}", "", inspect.getdoc(owner) or "", "", "| method | what it does |", "|---|---|"]
        public = [(name, method) for name, method in inspect.getmembers_static(owner, inspect.isfunction) if name[0] != "_"]
        lines += [f"| `{name}({arguments(method)})` | {about(method)} |" for name, method in public if inspect.getdoc(method)]
    return "\n".join(lines) + "\n"


def arguments(method: Any) -> str:
    """Names and defaults, without types; what a method passes on is `…`."""
    shown = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        has_default = parameter.default is not parameter.empty
        name = {"VAR_POSITIONAL": f"*{parameter.name}", "VAR_KEYWORD": "…"}.get(parameter.kind.name, parameter.name)
        if parameter.kind.name == "KEYWORD_ONLY" and "*" not in "".join(shown):
            shown.append("*")
        shown.append(f"{name}={parameter.default!r}" if has_default else name)
    return ", ".join(shown)


def about(method: Any) -> str:
    text = inspect.getdoc(method) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


MADE = {SOURCE / "sync.py": sync_half, ROOT / "METHODS.md": methods}

if __name__ == "__main__":
    for path, make in MADE.items():
        path.write_text(make())
