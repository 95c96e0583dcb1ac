"""examples/python/game.py, in 25 lines or fewer."""

import importlib.util
import unittest.mock
from pathlib import Path

from support import URL, Case

PATH = Path(__file__).parent.parent.parent.parent / "examples/python/game.py"


class Game(Case):
    def setUp(self) -> None:
        super().setUp()
        spec = importlib.util.spec_from_file_location("game", PATH)
        assert spec and spec.loader
        self.game = importlib.util.module_from_spec(spec)
        with unittest.mock.patch.dict("os.environ", REDIS_URL=URL):
            spec.loader.exec_module(self.game)
        self.addCleanup(self.game.client.close)

    def test_it_is_short(self) -> None:
        self.assertLessEqual(len(PATH.read_text().splitlines()), 25)

    def test_a_service(self) -> None:
        game = self.game
        self.assertEqual(game.submit("dan", 10, "Dan").rank, 1)
        week, last_week, *_ = game.game.periods("week")
        game.game.add("old", 999, at=last_week.start, data={"name": "Old"})
        for second, (player, score) in enumerate([("ann", 50), ("bob", 70), ("cid", 50), ("bob", 60)]):
            change = game.game.add_ranked(player, score, at=week.start + second, data={"name": player.title()})
        self.assertEqual((change.score, change.rank, change.previous_rank), (70, 2, 2))
        # Ann was first. This week began without the old one.
        self.assertEqual(
            game.top_100(), [(1, "Old", 999), (2, "Bob", 70), (3, "Ann", 50), (4, "Cid", 50), (5, "Dan", 10)]
        )
        self.assertEqual([name for _, name, _ in game.top_100("week")], ["Bob", "Ann", "Cid", "Dan"])
        self.assertEqual(game.top_100(("week", -1)), [(1, "Old", 999)])
        self.assertIn("Dan", [name for _, name, _ in game.top_100("every")])
        self.assertEqual([row.member for row in game.around_me("cid")], ["old", "bob", "ann", "cid", "dan"])
        friends = game.friends("dan", ["cid", "ann", "stranger"])
        self.assertEqual(
            [(row.place, row.rank, row.member) for row in friends], [(1, 3, "ann"), (2, 4, "cid"), (3, 5, "dan")]
        )
