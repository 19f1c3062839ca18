"""Draws what scripts/loss has measured. It needs matplotlib:

python3 -m venv target/plot && target/plot/bin/pip install matplotlib
target/plot/bin/python bench/plot.py target/task-manager-loss.csv docs/images/task-manager-loss.svg
"""

import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
# The same curves give the same bytes.
matplotlib.rcParams["svg.hashsalt"] = "task-manager-loss"
import matplotlib.pyplot as plt

COLOURS = {
    "Paimon's committer": "#c0392b",
    "Paimon's coordinator": "#7f8c8d",
    "Paimon Writer Coordinator": "#1f6f8b",
}
FROM, TO = -5, 25

curves = defaultdict(list)
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        time = float(row["seconds since the kill"])
        if FROM <= time <= TO:
            curves[row["commits"], row["curve"]].append((time, int(row["rows"])))

figure, (made, table) = plt.subplots(2, 1, figsize=(9, 6), sharex=True)
for name, colour in COLOURS.items():
    seconds = dict(curves[name, "made per second"])
    times = range(FROM, TO)
    made.step(times, [seconds.get(time, 0) for time in times], where="post", color=colour, label=name)
    points = sorted(curves[name, "in table"])
    first = next(rows for _, rows in points)
    table.step([t for t, _ in points], [rows - first for _, rows in points], where="post", color=colour)
for axes in (made, table):
    axes.axvline(0, color="black", linewidth=0.8, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda rows, _: f"{rows:,.0f}"))
made.set_ylabel("rows taken per second")
made.legend(loc="lower right", frameon=False)
table.set_ylabel("rows in the table since then")
table.set_xlabel("seconds since one of the task managers was killed")
figure.tight_layout()
figure.savefig(sys.argv[2], metadata={"Date": None})
