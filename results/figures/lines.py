"""Error and memory over sequence length, a line for each kernel."""

import math

from figures import caption, style
from figures.panels import Panels, series_label, short_length

ERROR_LABELS = {"rel_l1": "rel_l1 [%]", "rel_l2": "rel_l2 [%]", "max_abs": "largest |error|"}
MIB = 1 << 20


def error_of(metric):
    """None where the case was not verified, NaN where an output is not finite."""
    factor = 1.0 if metric == "max_abs" else 100.0

    def value_of(case):
        value = case.errors.get(metric)
        return None if value is None else factor * value

    return value_of


def memory_of(case):
    """The measured peak; where none was measured, what is predicted."""
    size = case.memory.get("peak", case.memory.get("predicted"))
    return None if size is None else size / MIB


class LinePanel:
    def __init__(self, axes, panels, key, value_of):
        self._axes, self._panels, self._value_of = axes, panels, value_of
        self._at = panels.of[key]
        self._lengths = panels.lengths_in(key)
        self.gaps = {}  # series: lengths where an output is not finite
        axes.set_title(panels.title(key))
        axes.set_xticks(range(len(self._lengths)), [short_length(each) for each in self._lengths])
        axes.grid(alpha=0.3)

    def draw(self):
        for series in self._panels.series:
            values = [self._value(series, length) for length in self._lengths]
            if all(value is None for value in values):
                continue
            broken = [x for x, value in enumerate(values) if value is not None and math.isnan(value)]
            self._axes.plot(
                range(len(values)),
                [math.nan if value is None else value for value in values],
                marker=style.marker_of(series, self._panels.series),
                markersize=3.5,
                linewidth=1.1,
                color=style.colour_of(series, self._panels.series),
            )
            for x in broken:
                self._mark_broken(x, series)

    def _value(self, series, length):
        case = self._at[series].get(length) if series in self._at else None
        return self._value_of(case) if case else None

    def _mark_broken(self, x, series):
        self.gaps.setdefault(series, []).append(self._lengths[x])
        self._axes.plot(
            x,
            0.97,
            marker="x",
            color=style.colour_of(series, self._panels.series),
            transform=self._axes.get_xaxis_transform(),
        )


def gaps_line(gaps):
    """Where what is not finite has a cross instead of a point."""
    texts = [
        f"{series_label(series)} at {', '.join(short_length(each) for each in sorted(set(lengths)))}"
        for series, lengths in sorted(gaps.items())
    ]
    return f"x: not finite: {'; '.join(texts)}" if texts else ""


def line_figure(pyplot, cases, value_of, label, log, kind_of):
    panels = Panels(cases)
    figure, all_axes = style.new_figure(pyplot, len(panels.keys))
    gaps = {}
    for axes, key in zip(all_axes, panels.keys):
        panel = LinePanel(axes, panels, key, value_of)
        panel.draw()
        for series, lengths in panel.gaps.items():
            gaps.setdefault(series, []).extend(lengths)
        axes.set_yscale("log", base=2) if log else axes.set_ylim(bottom=0)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(label)
    handles = [
        pyplot.Line2D(
            [],
            [],
            color=style.colour_of(each, panels.series),
            marker=style.marker_of(each, panels.series),
            markersize=4,
        )
        for each in panels.series
    ]
    lines = caption.caption(
        [case for case in cases if value_of(case) is not None],
        panels,
        caption.SHORT_MEANING,
        gaps_line(gaps),
        kind_of=kind_of,
    )
    style.finish(figure, handles, [series_label(each) for each in panels.series], lines)
    return figure


def known(cases, value_of, what):
    """The cases of kernels for which something is known."""
    kernels = {case.kernel for case in cases if value_of(case) is not None}
    if not kernels:
        raise ValueError(f"no case has {what}")
    return [case for case in cases if case.kernel in kernels]


def draw_error(pyplot, cases, arguments):
    value_of = error_of(arguments.metric)
    cases = known(cases, value_of, "an error: it was not verified")
    return line_figure(
        pyplot,
        cases,
        value_of,
        ERROR_LABELS[arguments.metric],
        False,
        lambda case: case.kind_of_result,
    )


def draw_memory(pyplot, cases, _arguments):
    cases = [case for case in cases if case.mark != "n/s"]  # what there is no kernel for takes none
    cases = known(cases, memory_of, "a size of its memory")
    return line_figure(
        pyplot, cases, memory_of, "memory [MiB]", True, lambda case: case.kind_of_memory
    )
