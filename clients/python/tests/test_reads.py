"""Reads and writes of one board that are not in test_values.py."""

from support import Case, row

from redis_rank import Entry, Leaderboard

START = 1_700_000_000


class Reads(Case):
    def setUp(self) -> None:
        super().setUp()
        self.board = Leaderboard(self.redis, "game", ties="FIRST", data="{game}:who")
        for second, (member, score) in enumerate({"ann": 5, "bob": 7, "cid": 5, "dan": 3}.items()):
            self.board.add(member, score, at=START + second, data={"n": second})

    def test_pages_by_place(self) -> None:
        first, second = self.board.top(2, time=True)
        self.assertEqual((first.time, second), (START + 1, row(2, "ann", 5, time=START)))
        after = self.board.after(2, second.scores, at=second.time, member=second.member)
        self.assertEqual(after, [row(3, "cid", 5), row(4, "dan", 3)])
        before = self.board.before(1, second.scores, at=second.time, member=second.member)
        self.assertEqual([row.member for row in before], ["bob"])
        self.assertEqual(self.board.for_score(5), 4)
        self.assertEqual(self.board.for_score(5, kind="ORDINAL", at=START, member="ann"), 2)

    def test_all_members(self) -> None:
        entries = list(self.board.scan_all(count=1, time=True, data=True))
        expected = [Entry("ann", 5, (5,), START, {"n": 0}), Entry("bob", 7, (7,), START + 1, {"n": 1})]
        self.assertEqual(sorted(entries, key=lambda entry: entry.member)[:2], expected)
        self.assertEqual(len(entries), 4)

    def test_lines_for_another_board(self) -> None:
        cursor, lines = self.board.scan_lines(time=True)
        copy = Leaderboard(self.redis, "copy", ties="FIRST")
        self.assertEqual((cursor, copy.load(lines), copy.load(lines, nx=True)), ("0", 4, 0))
        self.assertEqual(copy.top(9, time=True), self.board.top(9, time=True))

    def test_names_with_every_kind_of_line_end(self) -> None:
        names = {name: score for score, name in enumerate(["a\nb", "a\r\nb", "\x85", "\u2028", "\u2029", "\x1c", "\x0b", ""])}
        board, copy = Leaderboard(self.redis, "odd"), Leaderboard(self.redis, "copy")
        board.add_many(names)
        self.assertEqual({entry.member: entry.score for entry in board.scan_all()}, names)
        self.assertEqual(copy.load(board.scan_lines()[1]), len(names))
        self.assertEqual(copy.top(9), board.top(9))

    def test_pop(self) -> None:
        self.assertEqual(self.board.pop(data=True), [row(1, "bob", 7, data={"n": 1})])
        self.assertEqual([row.member for row in self.board.pop(2, worst=True)], ["dan", "cid"])
        self.assertEqual(self.board.count(), 1)

    def test_writes_of_attributes(self) -> None:
        self.assertEqual(self.board.set_data("ann", {"name": "Ann"}), 1)
        self.board.put_data("bob", {"level": 9})
        self.assertEqual(self.board.del_data("cid"), 1)
        rows = self.board.top(3, data=True)
        self.assertEqual([row.data for row in rows], [{"level": 9}, {"n": 0, "name": "Ann"}, None])

    def test_the_life_of_a_board(self) -> None:
        self.assertEqual(self.board.rotate("{game}:old"), 4)
        self.assertEqual(self.board.info().members, 0)
        self.board.alter(keep=2, data=None)
        self.board.add_many({"a": 1, "b": 2, "c": 3})
        self.assertEqual((self.board.count(), self.board.info().data), (2, None))
        self.assertEqual((self.board.trim(1), self.board.clear()), (1, 1))
        step = Leaderboard(self.redis, "{game}:old").verify()
        self.assertEqual((step.cursor, step.checked, step.missing), ("0", 4, 0))

    def test_changes(self) -> None:
        changes = self.board.add_many_ranked({"eve": 9, "ann": 8})
        self.assertEqual(
            [(change.member, change.rank, change.previous_rank, change.previous_score) for change in changes],
            [("eve", 1, None, None), ("ann", 2, 2, 5)],
        )
        change = self.board.incr_ranked("dan", 10)
        self.assertEqual((change.rank, change.score, change.previous_score), (1, 13, 3))
        refused = self.board.add_ranked("zoe", 1, xx=True)
        self.assertEqual((refused.rank, refused.scores, refused.previous_rank, refused.previous_scores), (None,) * 4)
        self.assertEqual(self.board.by_score("(5", "inf", limit=(0, 2))[0].score, 13)
        self.assertEqual([row.place for row in self.board.among(["ann", "cid"])], [1, 2])
