"""Grouped bars by sequence length, one panel for each head_dim, mask, ...: SparkAttention's Figures
10 and 11 (throughput), and speed-ups over one kernel."""

import collections

from figures import caption, style
from figures.cases import Interval
from figures.meant import did_you_mean
from figures.panels import Panels, series_label, short_length
from figures.sheet import Sheet

GROUP_WIDTH = 0.86
BAR_POINTS = 3.5  # the width of a bar sets the width of a panel
ABSENT = "–"
BASELINES = ("cublas-fp16", "unfused-fp16")  # the first one for which the runs have times


def throughput(case):
    """TFLOP/s of the useful work; None without a time."""
    return case.time.inverse(case.flops / 1e9) if case.time else None


def baseline_of(cases, asked, usual=BASELINES):
    """The baseline of the speed-ups: the requested kernel, or a usual one."""
    timed = {case.kernel for case in cases if case.time}
    return asked or next((name for name in usual if name in timed), usual[0])


def own_ratio(case, reference):
    """The record's own speed-up over the reference, or None. A prediction's has a band, which is
    narrower than that of a ratio of two times, because common errors cancel."""
    if case.kind == "predicted":
        over, band = case.predicted_speedup or (None, None)
        return band if over == reference else None
    over, ratio = case.speedup or (None, None)
    return Interval(ratio, ratio, ratio) if over == reference else None


def speedups(cases, reference):
    """{(run, id): Interval} over the reference's time for the same problem on a device of the same
    name, both measured or both predicted. The reference is in the case's own run, or else in the
    only other run that has it. A record's own ratio is preferred: it comes from samples that
    alternate with the reference's, with both times' uncertainty, or from a model with its band.
    Throws ValueError if there is no such reference."""
    times = collections.defaultdict(dict)
    for case in cases:
        if case.kernel == reference and case.time:
            times[case.problem(), case.kind][case.run] = case.time
    if not times:
        known = sorted({case.kernel for case in cases if case.time})
        raise ValueError(
            f"--reference: no time of '{reference}'{did_you_mean(reference, known)}; the runs have "
            f"times of {', '.join(known)}"
        )
    ratios = {}
    for case in cases:
        of_runs = times.get((case.problem(), case.kind), {}) if case.time else {}
        own = of_runs.get(case.run) or (list(of_runs.values())[0] if len(of_runs) == 1 else None)
        if own:
            ratio, recorded = own.over(case.time), own_ratio(case, reference)
            if recorded:
                ratio = recorded if case.kind == "predicted" else ratio.around(recorded.value)
            ratios[case.run, case.id] = ratio
    return ratios


class BarPanel:
    """One panel: a group for each length, with a slot for each series that holds a bar or a mark.
    """

    def __init__(self, axes, panels, key, value_of):
        self._axes, self._panels, self._value_of = axes, panels, value_of
        self._series = panels.series
        self._looks = style.looks_of(panels.series)
        self._width = GROUP_WIDTH / len(self._series)
        self._at = panels.of[key]
        self._lengths = panels.lengths_in(key)
        self.marks = set()
        axes.set_title(panels.title(key))
        axes.set_xticks(range(len(self._lengths)), [short_length(each) for each in self._lengths])
        axes.grid(axis="y", alpha=0.3)

    def draw(self):
        for i, series in enumerate(self._series):
            for group, length in enumerate(self._lengths):
                x = group + (i + 0.5) * self._width - GROUP_WIDTH / 2
                self._draw_case(x, series, self._at[series].get(length) if series in self._at else None)
        self._axes.set_xlim(-0.6, len(self._lengths) - 0.4)

    def _draw_case(self, x, series, case):
        value = self._value_of(case) if case and not case.mark else None
        if value is None:
            return self._draw_mark(x, (case.mark if case else "") or ABSENT)
        colour = self._looks[series].colour
        self._axes.bar(x, value.value, 0.92 * self._width, linewidth=0.8,
                       **paint(colour, case.kind == "predicted"))  # fmt: skip
        reach = [[value.value - value.low], [value.high - value.value]]
        self._axes.errorbar(x, value.value, yerr=reach, color="black", linewidth=0.6, capsize=1)

    def _draw_mark(self, x, mark):
        self.marks.add(mark)
        self._axes.text(
            x,
            0,
            mark if mark == ABSENT else f" {mark}",
            rotation=0 if mark == ABSENT else 90,
            ha="center",
            va="bottom",
            fontsize=style.SMALLEST + 1,
            color=style.MARK_COLOUR,
        )


def paint(colour, is_predicted):
    """Predictions are hatched on white."""
    return {
        "facecolor": "white" if is_predicted else colour,
        "edgecolor": colour,
        "hatch": style.PREDICTED_HATCH if is_predicted else None,
    }


def legend_of(pyplot, cases, panels):
    """A box for each series, painted like its bars."""
    looks = style.looks_of(panels.series)
    measured = {panels.series_of(case) for case in cases if case.measured}
    boxes = [
        pyplot.Rectangle((0, 0), 1, 1, **paint(looks[each].colour, each not in measured))
        for each in panels.series
    ]
    return boxes, [series_label(each) for each in panels.series]


def least_width(panels, bar_points):
    """The least width in inches of a panel with bars `bar_points` wide."""
    most = max(len(panels.lengths_in(key)) for key in panels.keys)
    return 0.5 + most * len(panels.series) * bar_points / GROUP_WIDTH / 72


def bar_figure(pyplot, cases, value_of, label, baseline=None, width=None):
    panels = Panels(cases)
    sheet = Sheet(pyplot, len(panels.keys), width, least_width(panels, BAR_POINTS))
    marks = set()
    for axes, key in zip(sheet.panels, panels.keys):
        panel = BarPanel(axes, panels, key, value_of)
        panel.draw()
        marks |= panel.marks
        if baseline is not None:
            axes.axhline(baseline, color="black", linewidth=0.6, linestyle="--")
    sheet.label_axes(panels.x_label, label)
    lines = caption.caption_of_times(
        cases, panels, caption.MEANING, caption.marks_line(marks), sheet.share_scale()
    )
    return sheet.finish([legend_of(pyplot, cases, panels)], lines)


def with_times(cases):
    """Drops the kernels that have no time anywhere; also returns their names."""
    timed = {case.kernel for case in cases if case.time}
    if not timed:
        raise ValueError("no case has a time, measured or predicted; --figure error needs none")
    return [case for case in cases if case.kernel in timed]


def draw_throughput(pyplot, cases, arguments):
    return bar_figure(pyplot, with_times(cases), throughput, "TFLOP/s", width=arguments.width)


def draw_speedup(pyplot, cases, arguments):
    cases = with_times(cases)
    return speedup_figure(pyplot, cases, baseline_of(cases, arguments.reference), arguments.width)


def speedup_figure(pyplot, cases, reference, width):
    ratios = speedups(cases, reference)
    others = [case for case in cases if case.kernel != reference]
    if not ratios.keys() & {(case.run, case.id) for case in others}:
        raise ValueError(
            f"no kernel but '{reference}' has a time beside one of it; allowed: --reference KERNEL, "
            f"--where AXIS=VALUE, or runs that have both"
        )
    return bar_figure(
        pyplot,
        others,
        lambda case: ratios.get((case.run, case.id)),
        f"speed-up over {reference}",
        baseline=1.0,
        width=width,
    )
