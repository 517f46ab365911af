#!/usr/bin/env python3
"""Plots a run of sparkbench: error, and throughput where there is any, over seqlen_q.

    results/render/plot.py RUN [-o FILE] [--kernel volta-fp32acc,unfused-fp16]

RUN is a run.json or a cases.csv. One panel per metric, pass, head_dim and mask, one line per kernel,
in the order of --kernel. The points of a line at one seqlen_q (batch, dropout, ...) are averaged,
their range shaded. The error of a backward pass is that of its worst gradient. Where an output is
not finite there is no error and no mean: the line has a gap, and the legend says so. An SVG has the
same bytes whenever it is drawn from the same run by the same matplotlib.
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


GRADIENTS = ("dq", "dk", "dv")


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
                "pass": problem["pass"],
                "head_dim": problem["head_dim"],
                "causal": str(problem["causal"]).lower(),
                "mask": problem.get("mask"),
                "seqlen_q": problem["seqlen_q"],
                "rel_l1": accuracy.get("rel_l1"),
                "nonfinite": accuracy.get("nonfinite"),
                **{
                    f"{name}_{field}": accuracy.get(name, {}).get(field)
                    for name in GRADIENTS
                    for field in ("rel_l1", "nonfinite")
                },
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


def mask_of(row):
    """Records of before there were other masks have no name of theirs."""
    return row.get("mask") or ("causal" if row["causal"] == "true" else "full")


def is_not_finite(row):
    """Whether an element of the output is not finite. Early records have metrics of the others."""
    fields = ["nonfinite"] if row["pass"] == "fwd" else [f"{name}_nonfinite" for name in GRADIENTS]
    return any(to_number(row.get(field)) for field in fields)


def value_of(row, metric):
    """None where the row does not have the metric, or one of its gradients does not. NaN for the
    error of an output that is not finite."""
    if metric == "rel_l1" and is_not_finite(row):
        return math.nan
    if metric != "rel_l1" or row["pass"] == "fwd":
        return to_number(row[metric])
    errors = [to_number(row[f"{name}_rel_l1"]) for name in GRADIENTS]
    return None if None in errors else max(errors)


def collect(rows, metric):
    """{(pass, head_dim, mask): {kernel: {seqlen_q: [values]}}} of the rows that have the metric."""
    factor = METRICS[metric][1]
    panels = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        value = value_of(row, metric)
        if value is not None:
            panel = (row["pass"], int(row["head_dim"]), mask_of(row))
            panels[panel][row["kernel"]][int(row["seqlen_q"])].append(factor * value)
    return panels


def select(rows, kernels):
    """The rows of these kernels, in their order. Throws ValueError where one has none."""
    of_kernel = {kernel: [row for row in rows if row["kernel"] == kernel] for kernel in kernels}
    for kernel, own in of_kernel.items():
        if not own:
            has = ", ".join(sorted({row["kernel"] for row in rows}))
            raise ValueError(f"--kernel: no case of '{kernel}'; the run has {has}")
    return [row for own in of_kernel.values() for row in own]


def label_of(kernel, points):
    gaps = [str(seqlen) for seqlen, values in points if any(map(math.isnan, values))]
    return f"{kernel} (not finite at {', '.join(gaps)})" if gaps else kernel


def draw_panel(axes, metric, panel, kernels):
    for kernel, values_at in kernels.items():
        points = sorted(values_at.items())
        x = [seqlen for seqlen, _ in points]
        means = [sum(values) / len(values) for _, values in points]
        (line,) = axes.plot(x, means, marker="o", label=label_of(kernel, points))
        # NaN has no order: where there is one, the mean is NaN too.
        low = [mean if math.isnan(mean) else min(v) for mean, (_, v) in zip(means, points)]
        high = [mean if math.isnan(mean) else max(v) for mean, (_, v) in zip(means, points)]
        axes.fill_between(x, low, high, alpha=0.15, color=line.get_color())
    seqlens = sorted({seqlen for values_at in kernels.values() for seqlen in values_at})
    axes.set_xscale("log", base=2)
    axes.set_xticks(seqlens, labels=seqlens)
    axes.set_ylim(bottom=0)
    axes.set_title("{}, head_dim {}, {}".format(*panel))
    axes.set_xlabel("seqlen_q")
    axes.set_ylabel(METRICS[metric][0])
    axes.legend()
    axes.grid(alpha=0.3)


def draw(rows, pyplot):
    """A row of panels per metric that any case has. Throws ValueError when there is none."""
    panels = {metric: collect(rows, metric) for metric in METRICS}
    panels = {metric: of_metric for metric, of_metric in panels.items() if of_metric}
    if not panels:
        raise ValueError("no case has an error or a throughput to plot")
    columns = sorted({panel for of_metric in panels.values() for panel in of_metric})
    figure, grid = pyplot.subplots(
        len(panels),
        len(columns),
        figsize=(6 * len(columns), 4 * len(panels)),
        squeeze=False,
        layout="constrained",
    )
    for metric, axes_row in zip(panels, grid):
        for panel, axes in zip(columns, axes_row):
            draw_panel(axes, metric, panel, panels[metric].get(panel, {}))
    return figure


def load_pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py: matplotlib is missing; install it (apt install python3-matplotlib)")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "sparkbench"  # else ids differ from run to run
    from matplotlib import pyplot

    return pyplot


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=pathlib.Path, help="run.json or cases.csv")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="default: RUN as .png")
    parser.add_argument("--kernel", help="names, separated by commas; default: all")
    arguments = parser.parse_args()
    output = arguments.output or arguments.run.with_suffix(".png")
    try:
        rows = read_rows(arguments.run)
        if arguments.kernel:
            rows = select(rows, arguments.kernel.split(","))
        metadata = {"Date": None} if output.suffix == ".svg" else None
        draw(rows, load_pyplot()).savefig(output, metadata=metadata)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"plot.py: {arguments.run}: {error}")
    print(output)


if __name__ == "__main__":
    main()
