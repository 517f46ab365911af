"""Grouped bars by sequence length, a panel for each head_dim, mask, ...: SparkAttention's Figures 10
and 11 (throughput), and speed-ups over one kernel."""

import collections

from figures import caption, style
from figures.meant import did_you_mean
from figures.panels import Panels, series_label, short_length

GROUP_WIDTH = 0.86
ABSENT = "–"


def throughput(case):
    """TFLOP/s, by the useful work; None where there is no time."""
    return case.time.inverse(case.flops / 1e9) if case.time else None


def speedups(cases, reference):
    """{(run, id): Interval} over the reference's time of the same problem on a device of the same
    name, both measured or both predicted: of the case's own run, or of the one other that has it. A
    record's own ratio, of samples that alternate with the reference's, is taken where there is one.
    Throws ValueError where there is no such reference."""
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
            ratio = own.over(case.time)
            has_own = case.speedup and case.speedup[0] == reference
            ratios[case.run, case.id] = ratio.around(case.speedup[1]) if has_own else ratio
    return ratios


class BarPanel:
    """One panel: a group for each length, in it a place for each series, filled or marked."""

    def __init__(self, axes, panels, key, value_of):
        self._axes, self._panels, self._value_of = axes, panels, value_of
        self._series = panels.series
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
        colour = style.colour_of(series, self._panels.series)
        is_predicted = case.kind == "predicted"
        self._axes.bar(
            x,
            value.value,
            0.92 * self._width,
            color="white" if is_predicted else colour,
            edgecolor=colour,
            hatch=style.PREDICTED_HATCH if is_predicted else None,
            linewidth=0.8,
        )
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
            fontsize=6,
            color="#a00000",
        )


def bar_figure(pyplot, cases, value_of, label, baseline=None):
    panels = Panels(cases)
    figure, all_axes = style.new_figure(pyplot, len(panels.keys), shares_scale=True)
    marks = set()
    for axes, key in zip(all_axes, panels.keys):
        panel = BarPanel(axes, panels, key, value_of)
        panel.draw()
        marks |= panel.marks
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(label)
        if baseline is not None:
            axes.axhline(baseline, color="black", linewidth=0.6, linestyle="--")
    for axes in all_axes:
        axes.set_ylim(bottom=0)  # once all have what their shared scale is to show
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, color=style.colour_of(each, panels.series))
        for each in panels.series
    ]
    lines = caption.caption(cases, panels, caption.MEANING, caption.marks_line(marks))
    style.finish(figure, handles, [series_label(each) for each in panels.series], lines)
    return figure


def with_times(cases):
    """Without the kernels that have no time anywhere, and these kernels' names."""
    timed = {case.kernel for case in cases if case.time}
    if not timed:
        raise ValueError("no case has a time, measured or predicted; --figure error needs none")
    return [case for case in cases if case.kernel in timed]


def draw_throughput(pyplot, cases, _arguments):
    return bar_figure(pyplot, with_times(cases), throughput, "TFLOP/s")


def draw_speedup(pyplot, cases, arguments):
    cases = with_times(cases)
    ratios = speedups(cases, arguments.reference)
    others = [case for case in cases if case.kernel != arguments.reference]
    return bar_figure(
        pyplot,
        others,
        lambda case: ratios.get((case.run, case.id)),
        f"speed-up over {arguments.reference}",
        baseline=1.0,
    )
