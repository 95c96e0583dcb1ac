#!/usr/bin/env python3
"""Writes the tables and figures of docs/benchmarks.md, and the charts in docs/charts, from benches/results.json.

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
SHOWN = {"waiters": ["p50_ms", "p99_ms", "p999_ms"], "mixed": ["p50_us", "p99_us", "p999_us"]}


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
    head = ["redis-rank", "beside", f"µs, {SERVERS[0]}", *SERVERS, "100 members", "1M members", "AOF", "replica"]
    used = [column for column in zip(head, *lines) if any(column[1:])]
    return table([column[0] for column in used], zip(*(column[1:] for column in used)))


def growth(_):
    sizes = [f"{members:,}" for (members,), _ in grouped(find("growth"), "members")]
    lines = [[name, *(span([it], "us") for it in group)] for (name,), group in grouped(find("growth"), "name")]
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
    def inline(match):
        section, name, beside, *more = (part.strip() for part in match[1].split(";"))
        more = dict(part.split("=") for part in more)
        figure = more.pop("figure", "ratio")
        return f"<!--={match[1]}-->{span(find(section, name, beside, **more), figure)}<!--/-->"

    def block(match):
        return f"<!-- table {match[1]} -->\n{TABLES.get(match[1], ratios)(match[1])}\n<!-- /table -->"

    text = re.sub(r"<!-- table (.*?) -->.*?<!-- /table -->", block, PAGE.read_text(), flags=re.S)
    return re.sub(r"<!--=(.*?)-->.*?<!--/-->", inline, text, flags=re.S)


def draw():
    import matplotlib.pyplot as plt
    overview = [it for section, beside in [("core", "*"), ("scripts", "*"), ("limits", "[IL]*"), ("schedules", "*")]
                for it in find(section, beside=beside, members=100_000)]
    for mode in ("light", "dark"):
        plt.style.use(["default", *["dark_background"] * (mode == "dark")])
        paper = dict.fromkeys(["figure.facecolor", "axes.facecolor"], "#ffffff" if mode == "light" else "#0d1117")
        plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "redis-rank", "axes.titlelocation": "left",
                             "axes.spines.top": False, "axes.spines.right": False, **paper})

        def save(name, title, label, base=10, **legend):
            plt.title(title)
            plt.xlabel(label)
            plt.xscale("log", base=base)
            plt.gca().xaxis.set_major_formatter(lambda value, _: f"{value:,g}" if value < 1e5 else f"{value:,.0f}")
            plt.grid(alpha=0.25)
            plt.legend(frameon=False, **legend)
            plt.savefig(ROOT / f"docs/charts/{name}-{mode}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close()

        def dots(name, title, label, records, figure):
            lines = grouped(records, "name", "beside")
            height = plt.figure(figsize=(7, 0.9 + 0.24 * len(lines))).get_figheight()
            for server, marker in zip(SERVERS, "os^Dv"):
                at = [(it["figures"][figure], place) for place, (_, group) in enumerate(lines) for it in group
                      if it["server"] == server and it["figures"][figure] > 0]
                plt.plot(*zip(*at), marker, label=server, alpha=0.85)
            plt.yticks(range(len(lines)), [" beside ".join(filter(None, line)) for line, _ in lines])
            plt.gca().invert_yaxis()
            right = plt.gca().secondary_yaxis("right")
            right.set_yticks(range(len(lines)), [span(group, figure) for _, group in lines])
            plt.axvline(1 if figure == "ratio" else plt.xlim()[0], color="gray")
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.7 / height), "ncols": 3}
            save(name, title, label, 10 if figure == "ms" else 2, **below)

        dots("overview", "redis-rank beside core commands and Lua scripts",
             "times as fast (left of 1: slower, right of 1: faster)", overview, "ratio")
        dots("memory", "Memory of a member, an item or a limiter", "bytes", find("memory"), "bytes")
        dots("blocking", "Execution time of one command on a large board", "ms", find("blocking"), "ms")
        plt.figure(figsize=(7, 4))
        for name in ["ZADD", "RANK.ADD", "RANK.ADD, coded", "ZREVRANK", "RANK.GET"]:
            points = [(it["members"], it["figures"]["us"]) for it in find("growth", name)]
            plt.plot(*zip(*points), "o-" if name.startswith("RANK") else "o--", label=name)
        plt.gca().set(ylabel="µs", ylim=(0, None))
        save("growth", "Processor time of one command as a board grows", "members")


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if page() == PAGE.read_text() else "run benches/report.py: docs/benchmarks.md has other figures")
    PAGE.write_text(page())
    draw()
