"""Writes src/redis_rank/sync.py from asyncio.py: `python generate.py`. A test checks that it was run."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent / "src/redis_rank"
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


def generated() -> str:
    text = (SOURCE / "asyncio.py").read_text()
    for pattern, replacement in WORDS.items():
        text = re.sub(pattern, replacement, text)
    return NOTE + text


if __name__ == "__main__":
    (SOURCE / "sync.py").write_text(generated())
