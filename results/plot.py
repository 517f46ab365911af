#!/usr/bin/env python3
"""Plots a run of sparkbench: error, and throughput where there is any, over seqlen_q.

    results/plot.py RUN [-o FILE]

RUN is a run.json or a cases.csv. One panel per metric and head_dim, one line per kernel. The
points of a line at one seqlen_q (batch, mask, dropout, ...) are averaged, their range shaded.
"""

import argparse
import csv
import json
import math
import pathlib
import sys
from collections import defaultdict

METRICS = {
    "rel_l1": ("error, rel_l1 [%]", 100.0),
    "tflops": ("throughput [TFLOP/s]", 1.0),
}


def read_json(path):
    """Flat rows, with the names of the CSV's columns."""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    rows = []
    for case in cases:
        accuracy = case["accuracy"] or {}
        problem = case["problem"]
        rows.append(
            {
                "kernel": case["kernel"],
                "head_dim": problem["head_dim"],
                "seqlen_q": problem["seqlen_q"],
                "rel_l1": accuracy.get("rel_l1"),
                "tflops": case["tflops"],
            }
        )
    return rows


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_rows(path):
    return read_csv(path) if path.suffix == ".csv" else read_json(path)


def to_number(value):
    """None for null, an empty cell, or what is not finite."""
    number = float(value) if value not in (None, "") else math.nan
    return number if math.isfinite(number) else None


def collect(rows, metric):
    """{head_dim: {kernel: {seqlen_q: [values]}}} of the rows that have the metric."""
    factor = METRICS[metric][1]
    panels = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        value = to_number(row[metric])
        if value is not None:
            head_dim, seqlen_q = int(row["head_dim"]), int(row["seqlen_q"])
            panels[head_dim][row["kernel"]][seqlen_q].append(factor * value)
    return panels


def draw_panel(axes, metric, head_dim, kernels):
    for kernel, values_at in kernels.items():
        points = sorted(values_at.items())
        x = [seqlen for seqlen, _ in points]
        means = [sum(values) / len(values) for _, values in points]
        (line,) = axes.plot(x, means, marker="o", label=kernel)
        low = [min(values) for _, values in points]
        high = [max(values) for _, values in points]
        axes.fill_between(x, low, high, alpha=0.15, color=line.get_color())
    seqlens = sorted({seqlen for values_at in kernels.values() for seqlen in values_at})
    axes.set_xscale("log", base=2)
    axes.set_xticks(seqlens, labels=seqlens)
    axes.set_ylim(bottom=0)
    axes.set_title(f"head_dim {head_dim}")
    axes.set_xlabel("seqlen_q")
    axes.set_ylabel(METRICS[metric][0])
    axes.legend()
    axes.grid(alpha=0.3)


def draw(rows, pyplot):
    """A row of panels per metric that any case has. Throws ValueError when there is none."""
    panels = {metric: collect(rows, metric) for metric in METRICS}
    panels = {metric: by_head_dim for metric, by_head_dim in panels.items() if by_head_dim}
    if not panels:
        raise ValueError("no case has an error or a throughput to plot")
    head_dims = sorted({d for by_head_dim in panels.values() for d in by_head_dim})
    figure, grid = pyplot.subplots(
        len(panels),
        len(head_dims),
        figsize=(6 * len(head_dims), 4 * len(panels)),
        squeeze=False,
        layout="constrained",
    )
    for metric, axes_row in zip(panels, grid):
        for head_dim, axes in zip(head_dims, axes_row):
            draw_panel(axes, metric, head_dim, panels[metric].get(head_dim, {}))
    return figure


def load_pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py: matplotlib is missing; install it (apt install python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=pathlib.Path, help="run.json or cases.csv")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="default: RUN as .png")
    arguments = parser.parse_args()
    output = arguments.output or arguments.run.with_suffix(".png")
    try:
        rows = read_rows(arguments.run)
        draw(rows, load_pyplot()).savefig(output)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"plot.py: {arguments.run}: {error}")
    print(output)


if __name__ == "__main__":
    main()
