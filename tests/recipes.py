"""Runs the scripts that the guides name, on random data in each layout, and compares row by row.

    recipes.py URL SCRIPT...
"""

import random
import runpy
import sys

import redis

r = redis.Redis.from_url(sys.argv[1])
recipes = {}
for script in sys.argv[2:]:
    recipes.update(runpy.run_path(script))

random.seed(7)
USERS = [f"user-{n}" for n in random.sample(range(10**6), 2500)]
START = 1700000000000


def same(name, old, new):
    assert len(old) == len(new) > 0, f"{name}: {len(old)} rows became {len(new)}"
    for at, (before, after) in enumerate(zip(old, new), 1):
        assert before == after, f"{name}, row {at}: {before} became {after}"
    print(f"{name}: {len(new)} rows are the same")


def new_rows(board, *options):
    return recipes["rows"](r, board, *options)


def info(board, name):
    reply = r.execute_command("RANK.INFO", board)
    return (reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2])))[name]


def member_and_score(row):
    return row["member"], row["score"]


def top_n():
    for user in USERS:
        r.zadd("top", {user: random.randrange(300)})
        r.zremrangebyrank("top", 0, -501)
    old = [(user.decode(), score) for user, score in r.zrevrange("top", 0, -1, withscores=True)]
    recipes["move_top_n"](r, "top", 500)
    same("top N", old, [member_and_score(row) for row in new_rows("top")])
    # The bound is the board's now.
    r.execute_command("RANK.ADD", "top", 1000, "winner")
    r.execute_command("RANK.ADD", "top", -1, "loser")
    old = [("winner", 1000)] + old[:-1]
    same("top N, later", old, [member_and_score(row) for row in new_rows("top")])


def agoragames():
    for reverse in (False, True):
        name = f"agora-{reverse}"
        data = {user: random.choice(['{"name":"Ann"}', '{"level":7}', "plain text"]) for user in USERS[::2]}
        r.zadd(name, {user: random.randrange(200) for user in USERS})
        r.hset(f"{name}:member_data", mapping=data)
        old = r.zrange(name, 0, -1, desc=not reverse, withscores=True)
        shown = {user: recipes["json"].loads(text) if text[0] == "{" else text for user, text in data.items()}
        old = [(user.decode(), score, shown.get(user.decode())) for user, score in old]
        recipes["move_agoragames"](r, name, reverse)
        new = [(*member_and_score(row), row["data"]) for row in new_rows(name, "WITHDATA")]
        same(f"agoragames, reverse {reverse}", old, new)


def negated():
    # No two enter in the same millisecond: among those the order of names is reversed.
    entered = {user: START + 1000 * n + random.randrange(1000) for n, user in enumerate(USERS)}
    scores = {user: random.randrange(40) for user in USERS}
    for user in USERS:
        r.hset(f"user:{user}", mapping={"ts": entered[user], "name": user.upper()})
        r.zadd("negated", {f"{entered[user]}:{user}": -scores[user]})

    def old_rows():
        elements = r.zrange("negated", 0, -1, withscores=True)
        split = [(element.decode().split(":", 1)[1], -score) for element, score in elements]
        return [(user, score, {"name": user.upper()}) for user, score in split]

    def new():
        return [(*member_and_score(row), row["data"]) for row in new_rows("joined", "WITHDATA")]

    recipes["move_negated"](r, "negated", "joined", "players", START)
    same("negated", old_rows(), new())
    # Scores change and the time of entry stays: this is what FIRST would get wrong.
    for user in random.sample(USERS, 1500):
        score = random.randrange(40)
        r.zadd("negated", {f"{entered[user]}:{user}": -score})
        r.execute_command("RANK.ADD", "joined", score, user)
    same("negated, later", old_rows(), new())
    # Everything fits, because of SINCE.
    assert info("joined", b"overflow") == 0


def bytes_in_front():
    pack = recipes["struct"].pack
    scores = {user: (random.randrange(60), random.choice([0, 1, 2**32 - 1, random.randrange(2**32)])) for user in USERS}
    for user, values in scores.items():
        packed = pack(">HI", *values)
        r.zadd("bytes", {packed + user.encode(): 0})
        r.hset("bytes:of", user, packed)
    old = [(element[6:].decode(), recipes["struct"].unpack(">HI", element[:6])) for element in r.zrevrange("bytes", 0, -1)]
    recipes["move_bytes"](r, "bytes:of", "levels")
    new = [(row["member"], (row["scores"]["level"], row["scores"]["xp"])) for row in new_rows("levels")]
    same("bytes", old, new)


def three_keys():
    json = recipes["json"]
    lists = {}
    for user in USERS:
        score = random.randrange(50)
        r.hset("three:users", user, score)
        r.zadd("three:scores", {score: score})
        lists.setdefault(score, []).append(user)
        r.hset("three:lists", score, json.dumps(lists[score]))
    old, rank = [], 1
    for score in r.zrevrange("three:scores", 0, -1):
        users = json.loads(r.hget("three:lists", score))
        old.append([rank, sorted(users)])
        rank += len(users)
    recipes["move_three_keys"](r, "three:users", "three")
    same("three keys", old, json.loads(r.execute_command("RANK.STATS", "three", "JSON")))


def tair():
    # What EXZREVRANGE would list: the scores as doubles from left to right, then the members, best first.
    scores = {user: (random.randrange(9), random.randrange(9), random.randrange(999)) for user in USERS}
    old = sorted(((values, user) for user, values in scores.items()), reverse=True)
    old = [(user, list(values)) for values, user in old]
    members = [(user.encode(), b"#".join(b"%d" % value for value in values)) for user, values in scores.items()]
    names = ["gold", "silver", "bronze"]
    for kind in (["DIGITS", 3], ["FLOAT"], ["INT"]):
        board = "tair-" + kind[0]
        recipes["move_tair"](r, members, board, [word for name in names for word in ["FIELD", name, *kind]])
        new = [(row["member"], [row["scores"][name] for name in names]) for row in new_rows(board)]
        same(f"TairZset, {kind[0]}", old, new)


def decoded(name, schema, make):
    """Every member of a board, decoded without the module, beside what was written."""
    board = f"decode-{name}"
    if schema:
        r.execute_command("RANK.CREATE", board, *schema.split())
    expected = {}
    for user in [*USERS[:800], "\0odd", "\1", "\2", ""]:
        values, time = make(), START + random.randrange(10**9)
        r.execute_command("RANK.ADD", board, "AT", time, *values, user)
        unit = 1000 if " S " in schema else 1
        expected[user] = values, time // unit * unit if "TIES" in schema else None
    got = [(member.decode(), (scores, time)) for member, scores, time in recipes["read_board"](r, board)]
    same(f"decoded, {name}", sorted(expected.items()), sorted(got))
    order = [row["member"] for row in new_rows(board)]
    assert [member for member, _ in got] == order, f"{name}: another order"


def decode_all():
    below = random.randrange

    def some_int():
        return random.choice([below(-9, 10), below(10**6), below(-10**10, 10**10), below(-2**63, 2**63), 2**63 - 1, -2**63])

    def some_float():
        exact = [0.5, -0.001, 999.999, 5e-324, -1.7976931348623157e308, 2.0**53, 4312929407.5, 4312929408.0]
        return random.choice([*exact, float(below(1000)), below(10**6) / 1000, random.uniform(-9, 9), random.uniform(-1e300, 1e300)])

    decoded("a sorted set", "", lambda: [random.uniform(-9, 9)])
    decoded("plain", "ASC KEEP 2000 DATA players", lambda: [random.uniform(-9, 9)])
    decoded("digits", "FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3", lambda: [below(1000) for _ in "abc"])
    decoded("packed, signed and inverted", "FIELD a RANGE -500 500 FIELD b ASC RANGE -8 247", lambda: [below(-500, 501), below(-8, 248)])
    decoded("packed, all of 2^53", "FIELD a BITS 23 FIELD b BITS 30", lambda: [below(2**23), below(2**30)])
    decoded("bounded", "FIELD a BITS 20 FIELD b ASC BITS 20 FIELD c RANGE -1 1048574",
            lambda: [below(2**20), below(2**20), below(-1, 2**20 - 1)])
    decoded("bounded, time", f"FIELD a BITS 20 TIES FIRST SINCE {START}", lambda: [below(2**20)])
    decoded("integers", "FIELD a INT FIELD b ASC INT", lambda: [some_int(), some_int()])
    decoded("floats", "FIELD a ASC FIELD b FIELD c ASC", lambda: [some_float(), some_float(), some_float()])
    for name, since in (("new", START), ("old", START - 10**12), ("late", START + 5 * 10**8), ("young", START - 2 * 10**11)):
        decoded(f"times, {name}", f"TIES JOINED SINCE {since}", lambda: [some_float()])
        decoded(f"times, last, {name}", f"FIELD a INT TIES LAST SINCE {since}", lambda: [some_int()])
        decoded(f"seconds, {name}", f"FIELD a ASC INT TIES FIRST S SINCE {since}", lambda: [some_int()])


for check in (top_n, agoragames, negated, bytes_in_front, three_keys, tair, decode_all):
    check()
print("all rows are the same")
