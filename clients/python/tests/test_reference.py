"""The calls in the reference, docs/commands/*.md, send the command of their section."""

import re
from pathlib import Path
from typing import Any
import unittest

from redis_rank import Claim
from redis_rank.board import BoardCalls
from redis_rank.due import ScheduleCalls
from redis_rank.rate import LeaseCalls, LimiterCalls

PAGES = Path(__file__).parent.parent.parent.parent / "docs/commands"
NAMES: dict[str, Any] = {
    "board": BoardCalls("game", {}), "limiter": LimiterCalls(["5/1s"], {}), "lease": LeaseCalls("job", 1, 30),
    "schedule": ScheduleCalls("jobs"), "claim": Claim("mail:7", 1, 1, 0),
}  # fmt: skip


class Reference(unittest.TestCase):
    def test_calls_send_the_command_of_their_section(self) -> None:
        shown = 0
        for page in PAGES.glob("*.md"):
            for section in page.read_text().split("\n## ")[1:]:
                for code in re.findall(r"^Python: `(.*)`<br>$", section, re.M):
                    with self.subTest(code):
                        self.assertEqual(eval(code, dict(NAMES)).name, section.splitlines()[0])
                        shown += 1
        self.assertGreater(shown, 30)
