"""The calls in the reference, docs/commands/*.md, work, and send the command of their section."""

import re
from pathlib import Path
from typing import Any

import redis
from redis_rank import Lease, Leaderboard, Period, RateLimiter, Schedule

from support import URL, Case

PAGES = Path(__file__).parent.parent.parent.parent / "docs/commands"


class Recorder(redis.Redis):  # type: ignore[type-arg]
    sent: list[str] = []

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.sent.append(args[0])
        return super().execute_command(*args, **options)

    def pipeline(self, *args: Any, **options: Any) -> Any:
        """A write travels behind the declaration of its board."""
        pipeline = super().pipeline(*args, **options)
        execute = pipeline.execute_command

        def record(*words: Any, **options: Any) -> Any:
            self.sent.append(words[0])
            return execute(*words, **options)

        setattr(pipeline, "execute_command", record)
        return pipeline


class Reference(Case):
    def test_calls_send_the_command_of_their_section(self) -> None:
        shown = 0
        for page in sorted(PAGES.glob("*.md")):
            for section in page.read_text().split("\n## ")[1:]:
                command = section.splitlines()[0]
                for code in re.findall(r"^Python: `(.*)`<br>$", section, re.M):
                    with self.subTest(code), Recorder.from_url(URL) as client:
                        eval(code, names(client, command))
                        self.assertEqual(client.sent[-1], command)
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
