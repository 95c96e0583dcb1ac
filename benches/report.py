#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks.md, and the charts in docs/charts, from benches/results.json.

With --check it only checks that the page has the figures of the results. Only charts need matplotlib.
"""
import json
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/benchmarks.md"
RESULTS = json.loads((ROOT / "benches/results.json").read_text())
SERVERS = list(dict.fromkeys(record["server"] for record in RESULTS["records"]))
# Sections that have something else than a ratio, and what a table shows of it.
SHOWN = {"waiters": ["p50_ms", "p99_ms", "p999_ms"], "mixed": ["p50_us", "p99_us", "p999_us"], "memory": ["bytes"]}


def find(section="*", name="*", beside="*", setting="quiet", members="*"):
    patterns = {"section": section, "name": name, "beside": beside, "setting": setting, "members": str(members)}
    return [it for it in RESULTS["records"] if all(fnmatchcase(str(it[field]), patterns[field]) for field in patterns)]


def number(value):
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.005 else 3}f}"


def span(records, figure="ratio"):
    values = [number(value) for value in sorted(record["figures"][figure] for record in records)]
    return "" if not values else values[0] if values[0] == values[-1] else f"{values[0]}–{values[-1]}"


def grouped(records, *fields):
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in fields), []).append(record)
    return groups.items()


def by_server(records, show):
    shown = {record["server"]: show(record) for record in records}
    return [shown.get(server, "") for server in SERVERS]


def table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def ratios(section):
    lines = []
    records = [it for it in find(section) if it["members"] in (10_000, 100_000)]
    for (name, beside), group in grouped(records, "name", "beside"):
        # Where the rounds disagree, the last digit says nothing.
        cells = by_server(group, lambda it: span([it]) + " ~" * (it["figures"]["high"] > 1.2 * it["figures"]["low"]))
        cells += [span(find(section, name, beside, members=members)) for members in (100, 1_000_000)]
        cells += [span(find(section, name, beside, setting=setting)) for setting in ("aof", "replica")]
        micros = f"{span(group[:1], 'ours_us')} / {span(group[:1], 'theirs_us')}"
        lines.append([name, beside, micros, *cells])
    head = ["redis-rank", "compared with", f"µs, {SERVERS[0]}", *SERVERS, "100 members", "1M members", "AOF", "replica"]
    used = [column for column in zip(head, *lines) if any(column[1:])]
    return table([column[0] for column in used], zip(*(column[1:] for column in used)))


def growth(_):
    sizes = [f"{members:,}" for (members,), _ in grouped(find("growth"), "members")]
    # Lists of ten rows cost the same on every board.
    lines = [[name, *(span([it], "us") for it in group)] for (name,), group in grouped(find("growth"), "name") if " 10" not in name]
    return table([f"µs, {find('growth')[0]['server']}", *sizes], lines)


def figures(section):
    lines = [[name, *by_server(group, lambda it: " / ".join(span([it], figure) for figure in SHOWN[section]))]
             for (name,), group in grouped(find(section), "name")]
    return table([" / ".join(figure.replace("_", " ") for figure in SHOWN[section]), *SERVERS], lines)


def runs(_):
    lines = ["; ".join(f"{name}: {value}" for name, value in run.items()) for run in RESULTS["runs"]]
    return "- " + "\n- ".join(lines)


TABLES = {**dict.fromkeys(SHOWN, figures), "growth": growth, "runs": runs}


def page():
    def block(match):
        return f"<!-- table {match[1]} -->\n{TABLES.get(match[1], ratios)(match[1])}\n<!-- /table -->"

    return re.sub(r"<!-- table (.*?) -->.*?<!-- /table -->", block, PAGE.read_text(), flags=re.S)


# Rows of a chart, in groups: what a row is called, and the section, name and other side of its records.
OVERVIEW = {
    "Compared with the core command": [
        ("RANK.ADD, one score / ZADD", "core", "RANK.ADD", "ZADD"),
        ("RANK.ADD, three integers / ZADD", "core", "RANK.ADD, three INT", "ZADD"),
        ("RANK.ADD, score and time / ZADD", "core", "RANK.ADD, FLOAT with TIES FIRST", "ZADD"),
        ("RANK.GET / ZREVRANK", "core", "RANK.GET", "ZREVRANK"),
    ],
    "Compared with a Lua script that does the same": [
        ("RANK.ADD, keeping the best 500", "scripts", "RANK.ADD, KEEP 500, of a stream", "*"),
        ("RANK.ADD, three integers", "scripts", "RANK.ADD, three INT", "*"),
        ("RANK.AROUND", "scripts", "RANK.AROUND 5", "*"),
        ("DUE.CLAIM and DUE.ACK", "schedules", "DUE.CLAIM, DUE.ACK", "Lua*"),
    ],
    "A rate limit": [
        ("RATE.CHECK GCRA / Lua script", "limits", "RATE.CHECK GCRA", "Lua*"),
        ("RATE.CHECK GCRA / INCR alone", "limits", "RATE.CHECK GCRA", "INCR"),
    ],
}
MEMORY = {
    "A member of a board": [
        ("sorted set (ZADD)", "memory", "sorted set (ZADD)", "*"),
        ("one score", "memory", "plain: one score", "*"),
        ("three integers", "memory", "coded: three INT", "*"),
        ("score and time", "memory", "coded: FLOAT with TIES FIRST", "*"),
        ("with one index entry", "memory", "coded, index entry: 63*", "*"),
        ("by hand: sorted set and hash", "memory", "by hand: sorted set + hash*", "*"),
    ],
    "A limiter, one key": [
        ("string with an expiry (SET PX)", "memory", "string with*", "*"),
        ("FIXED", "memory", "limiter: FIXED", "*"),
        ("GCRA", "memory", "limiter: GCRA", "*"),
        ("SLIDING, one call", "memory", "limiter: SLIDING, one call", "*"),
    ],
}
BLOCKING = {
    "1,000 members": [
        ("RANK.ADD", "blocking", "RANK.ADD of 1,000 members", "*"),
        ("RANK.TOPN", "blocking", "RANK.TOPN 1000", "*"),
        ("RANK.AMONG", "blocking", "RANK.AMONG of 1,000 members", "*"),
        ("RANK.SCAN", "blocking", "RANK.SCAN COUNT 1000", "*"),
    ],
    "100,000 members": [
        ("RANK.TRIM", "blocking", "RANK.TRIM, 100,000 members leave", "*"),
        ("RANK.STATS, all scores", "blocking", "RANK.STATS JSON, all scores", "*"),
        ("RANK.TOPN, all members", "blocking", "RANK.TOPN, all members", "*"),
        ("RANK.GET DENSE", "blocking", "RANK.GET DENSE, 100,000 scores", "*"),
        ("ZREVRANGE 0 -1 WITHSCORES", "blocking", "ZREVRANGE 0 -1 WITHSCORES", "*"),
        ("COPY", "blocking", "COPY", "*"),
    ],
}
# What is measured for comparison.
CORE = ["sorted set (ZADD)", "by hand: sorted set and hash", "string with an expiry (SET PX)", "COPY",
        "ZREVRANGE 0 -1 WITHSCORES"]
OURS, THEIRS = "#2f81c7", "#d0722b"


def draw():
    import matplotlib.pyplot as plt

    def style(ink, paper):
        plt.style.use("default")
        inked = ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"]
        plt.rcParams.update({**dict.fromkeys(inked, ink), "figure.facecolor": paper, "axes.facecolor": paper,
                             "svg.fonttype": "none", "svg.hashsalt": "redis-rank", "font.size": 10.5,
                             "axes.titlelocation": "left", "axes.titlesize": 12, "axes.spines.top": False,
                             "axes.spines.right": False})

    def save(name, mode):
        plt.savefig(ROOT / f"docs/charts/{name}-{mode}.svg", bbox_inches="tight", metadata={"Date": None})
        plt.close()

    def bars(groups, title, label, figure, start, base):
        """Horizontal bars from `start`, the largest of each group first. A number or a range stands at the end of each."""
        rows, heads, place = [], [], 0
        for head, lines in groups.items():
            heads.append((place, head))
            found = [(text, find(section, name, beside)) for text, section, name, beside in lines]
            found = [(text, [it for it in records if it["members"] >= 100_000]) for text, records in found]
            middles = {text: sorted(it["figures"][figure] for it in records)[len(records) // 2] for text, records in found}
            for text, records in sorted(found, key=lambda row: -middles[row[0]]):
                place += 1
                rows.append((place, middles[text], span(records, figure), text))
            place += 1.2
        end = place
        plt.figure(figsize=(7.4, 0.8 + 0.3 * end))
        for place, value, shown, text in rows:
            is_ours = value >= start if figure == "ratio" else text not in CORE
            plt.barh(place, value - start, left=start, height=0.62, color=OURS if is_ours else THEIRS)
            beyond = (4, "left") if value >= start else (-4, "right")
            plt.annotate(shown, (value, place), (beyond[0], 0), textcoords="offset points", va="center", ha=beyond[1])
        axes = plt.gca()
        if base:
            axes.set_xscale("log", base=base)
        plt.yticks([row[0] for row in rows], [row[3] for row in rows])
        for place, head in heads:
            axes.annotate(head, (0, place), xycoords=("axes fraction", "data"), fontweight="bold", va="center")
        axes.tick_params(axis="y", length=0)
        plt.ylim(end - 0.4, -0.7)
        low, high = min(row[1] for row in rows), max(row[1] for row in rows)
        plt.xlim(min(low / 1.7, start), high * (1.9 if base else 1.25))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        plt.axvline(start, color=axes.spines["left"].get_edgecolor(), linewidth=1)
        axes.spines["left"].set_visible(False)
        plt.title(title, pad=12)
        plt.xlabel(label)

    for mode, ink, paper in (("light", "#1f2328", "#ffffff"), ("dark", "#e6edf3", "#0d1117")):
        style(ink, paper)
        bars(OVERVIEW, "How many times as fast as what it replaces", "1: the same; to the right: redis-rank is faster",
             "ratio", 1, 2)
        save("overview", mode)
        bars(MEMORY, "Memory", "bytes; orange: what is there without redis-rank", "bytes", 0, None)
        save("memory", mode)
        bars(BLOCKING, "How long one command runs on a board of 100,000 members",
             "milliseconds (logarithmic); orange: core commands", "ms", 0.1, 10)
        save("blocking", mode)

        plt.figure(figsize=(7.4, 4.2))
        for name, label, line in [("ZADD", "ZADD", "--"), ("RANK.ADD, coded", "RANK.ADD, three integers", "-"),
                                  ("ZREVRANK", "ZREVRANK", "--"), ("RANK.GET", "RANK.GET", "-")]:
            points = [(it["members"], it["figures"]["us"]) for it in find("growth", name)]
            color = OURS if name.startswith("RANK") else THEIRS
            plt.plot(*zip(*points), line, marker="o" if "ADD" in name else "s", color=color, label=label)
        axes = plt.gca()
        axes.set_xscale("log")
        axes.set_yscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        plt.grid(alpha=0.25)
        plt.legend(frameon=False)
        plt.title("Processor time of one command as a board grows")
        plt.xlabel("members (logarithmic)")
        plt.ylabel("microseconds (logarithmic)")
        save("growth", mode)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if page() == PAGE.read_text() else "run benches/report.py: docs/benchmarks.md has other figures")
    PAGE.write_text(page())
    draw()
