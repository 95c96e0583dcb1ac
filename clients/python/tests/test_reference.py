"""The calls in the reference, docs/commands/*.md, work, and send the command of their section."""

import re
from unittest.mock import patch
from pathlib import Path
from typing import Any

import redis
from redis_rank import Lease, Leaderboard, Period, RateLimiter, Schedule
from redis_rank.send import Sync

from support import URL, Case

SEND = Sync.send
PAGES = Path(__file__).parent.parent.parent.parent / "docs/commands"


class Reference(Case):
    def test_calls_send_the_command_of_their_section(self) -> None:
        shown = 0
        for page in sorted(PAGES.glob("*.md")):
            for section in page.read_text().split("\n## ")[1:]:
                command = section.splitlines()[0]
                for code in re.findall(r"^Python: `(.*)`<br>$", section, re.M):
                    sent: list[str] = []

                    def send(link: Sync, calls: Any, is_transaction: bool = False) -> Any:
                        sent.extend(call.name for call in calls)
                        return SEND(link, calls, is_transaction)

                    with self.subTest(code), redis.Redis.from_url(URL) as client, patch.object(Sync, "send", send):
                        eval(code, names(client, command))
                        self.assertEqual(sent[-1], command)
                        shown += 1
        self.assertGreater(shown, 30)


def names(client: redis.Redis, command: str) -> dict[str, Any]:  # type: ignore[type-arg]
    """What the calls refer to: a board with members, a limiter, a lease, and a schedule with an item that was claimed."""
    client.flushall()
    # A board with periods cannot be rotated.
    periods = [Period("DAY", "{game}:day:")] if command == "RANK.PERIODS" else []
    board = Leaderboard(client, "game", data="{game}:players", periods=periods)
    if command != "RANK.CREATE":
        board.add_many({"ann": 50, "bob": 70, "eve": 120})
    schedule = Schedule(client, "jobs")
    schedule.add("mail:7", after=0)
    [claim] = schedule.claim()
    return {
        "client": client, "Leaderboard": Leaderboard, "Period": Period, "board": board, "schedule": schedule, "claim": claim,
        "limiter": RateLimiter(client, "5/1s"), "lease": Lease(client, "job", limit=3, lease="30s"),
    }  # fmt: skip
