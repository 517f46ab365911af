"""Compares two runs: the second run's time over the first's, one row per case, with three standard
errors of both medians."""

import math

from figures import style
from figures.sheet import Sheet

WIDTH = 6.5  # inches
ROW_HEIGHT = 0.17  # inches
DOUBT = 3.0
RUN_TO_RUN = 0.003  # sparkbench diff's, relative


def ratio_and_doubt(first, second):
    ratio = second.measured.value / first.measured.value
    errors = [first.median_error, second.median_error, RUN_TO_RUN]
    return ratio, DOUBT * ratio * math.sqrt(sum(error * error for error in errors))


def pairs_of(cases):
    """The two runs' names, [(id, first, second)], and the ids with a time in only one run."""
    runs = list(dict.fromkeys(case.run for case in cases))
    if len(runs) != 2:
        raise ValueError(f"diff compares two runs, and {len(runs)} are given; allowed: RUN RUN")
    first, second = ({case.id: case for case in cases if case.run == run} for run in runs)
    pairs, alone = [], []
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name), second.get(name)
        if one and other and one.measured and other.measured:
            pairs.append((name, one, other))
        elif (one and one.measured) or (other and other.measured):
            alone.append(name)
    if not pairs:
        raise ValueError("diff: no case has a measured time in both runs")
    return runs, pairs, alone


def draw_diff(pyplot, cases, arguments):
    runs, pairs, alone = pairs_of(cases)
    sheet = Sheet(pyplot, 1, arguments.width or WIDTH, height=ROW_HEIGHT * (len(pairs) + 2))
    (axes,) = sheet.panels
    for y, (_, first, second) in enumerate(pairs):
        ratio, doubt = ratio_and_doubt(first, second)
        is_sure = abs(ratio - 1.0) > doubt
        colour = (style.BAD if ratio > 1 else style.GOOD) if is_sure else style.GREY
        axes.errorbar(ratio, y, xerr=doubt, marker="o", markersize=3, color=colour, linewidth=0.8)
    axes.axvline(1.0, color="black", linewidth=0.6, linestyle="--")
    size = style.small(pyplot, 2)
    axes.set_yticks(range(len(pairs)), [name for name, _, _ in pairs], fontsize=size)
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
    sheet.label_axes(f"time of {runs[1]} / time of {runs[0]}", "")
    devices = sorted({str(case.axes["device"]) for _, *both in pairs for case in both})
    lines = [f"{', '.join(devices)}: measured; whiskers: three standard errors, and 0.3 % from run to run"]
    if alone:
        lines.append(f"{len(alone)} cases have a time in one run alone, and are left out")
    return sheet.finish([], lines)
