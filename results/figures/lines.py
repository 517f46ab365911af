"""Error and memory over sequence length, one line for each kernel."""

import math

from figures import alike, caption, style
from figures.panels import Panels, series_label, short_length
from figures.sheet import Sheet

ERROR_LABELS = {"rel_l1": "rel_l1 [%]", "rel_l2": "rel_l2 [%]", "max_abs": "largest |error|"}
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
ALIKE = 0.01  # of the larger value: lines that differ by less everywhere coincide
DASH = 6.0  # points of each colour if lines coincide
ALIKE_NOTE = "where lines coincide there is one in all their colours, and the markers stand side by side"


def error_of(metric):
    """None if the case was not verified, NaN if an output is not finite."""
    factor = 1.0 if metric == "max_abs" else 100.0

    def value_of(case):
        value = case.errors.get(metric)
        return None if value is None else factor * value

    return value_of


def memory_of(case):
    """Bytes: the measured peak, or the predicted one if none was measured."""
    return case.memory.get("peak", case.memory.get("predicted"))


def size_text(size):
    """"512 MiB" for 2^29."""
    unit = min(int(math.log2(size) // 10), len(UNITS) - 1) if size >= 1 else 0
    return f"{size / 1024**unit:g} {UNITS[unit]}"


class LinePanel:
    def __init__(self, axes, panels, key, value_of):
        self._axes, self._panels, self._value_of = axes, panels, value_of
        self._looks = style.looks_of(panels.series)
        self._at = panels.of[key]
        self._lengths = panels.lengths_in(key)
        self.gaps = {}  # series: lengths at which an output is not finite
        self.has_alike = False
        axes.set_title(panels.title(key))
        axes.set_xticks(range(len(self._lengths)), [short_length(each) for each in self._lengths])
        axes.grid(alpha=0.3)

    def draw(self):
        rows = {}
        for series in self._panels.series:
            values = [self._value(series, length) for length in self._lengths]
            if any(value is not None for value in values):
                rows[series] = [math.nan if value is None else value for value in values]
            for x, value in enumerate(values):
                if value is not None and math.isnan(value):
                    self._mark_broken(x, series)
        for group in alike.groups_of(rows, ALIKE):
            self.has_alike = self.has_alike or len(group) > 1
            for i, series in enumerate(group):
                self._draw_line(rows[series], series, i, len(group))

    def _draw_line(self, values, series, nth, count):
        """Draws the nth of `count` lines that coincide."""
        look = self._looks[series]
        stripes = (nth * DASH, (DASH, (count - 1) * DASH)) if count > 1 else look.line
        xs = range(len(values))
        if self._panels.x_label == "model":
            stripes = "None"  # no line between two models; the axes still see the values
        self._axes.plot(xs, values, color=look.colour, linestyle=stripes, dash_capstyle="butt")
        self._axes.plot(
            xs,
            values,
            look.marker,
            color=look.colour,
            zorder=3,  # above the lines
            transform=alike.side_by_side(self._axes, nth, count),
        )

    def _value(self, series, length):
        case = self._at[series].get(length) if series in self._at else None
        return self._value_of(case) if case else None

    def _mark_broken(self, x, series):
        self.gaps.setdefault(series, []).append(self._lengths[x])
        self._axes.plot(
            x,
            0.97,
            marker="x",
            color=self._looks[series].colour,
            transform=self._axes.get_xaxis_transform(),
        )


def gaps_line(gaps):
    """A note that values which are not finite have a cross instead of a point."""
    texts = [
        f"{series_label(series)} at {', '.join(short_length(each) for each in sorted(set(lengths)))}"
        for series, lengths in sorted(gaps.items())
    ]
    return f"x: not finite: {'; '.join(texts)}" if texts else ""


def legend_of(pyplot, panels):
    looks = style.looks_of(panels.series)
    lines = [
        pyplot.Line2D([], [], color=look.colour, marker=look.marker,
                      linestyle="" if panels.x_label == "model" else look.line)
        for look in looks.values()
    ]  # fmt: skip
    return lines, [series_label(each) for each in panels.series]


def draw_panels(sheet, panels, value_of):
    """Draws all panels; returns the notes that they need."""
    gaps, has_alike = {}, False
    for axes, key in zip(sheet.panels, panels.keys):
        panel = LinePanel(axes, panels, key, value_of)
        panel.draw()
        has_alike = has_alike or panel.has_alike
        for series, lengths in panel.gaps.items():
            gaps.setdefault(series, []).extend(lengths)
    return [gaps_line(gaps), ALIKE_NOTE if has_alike else ""]


def known(cases, value_of, what):
    """The cases of kernels with any known value."""
    kernels = {case.kernel for case in cases if value_of(case) is not None}
    if not kernels:
        raise ValueError(f"no case has {what}")
    return [case for case in cases if case.kernel in kernels]


def with_value(cases, value_of):
    return [case for case in cases if value_of(case) is not None]


def draw_error(pyplot, cases, arguments):
    value_of = error_of(arguments.metric)
    cases = known(cases, value_of, "an error: it was not verified")
    panels = Panels(with_value(cases, value_of))
    sheet = Sheet(pyplot, len(panels.keys), arguments.width)
    notes = draw_panels(sheet, panels, value_of)
    notes.append(sheet.share_scale())
    sheet.label_axes(panels.x_label, ERROR_LABELS[arguments.metric])
    lines = caption.caption(
        with_value(cases, value_of),
        panels,
        caption.ERROR_MEANING,
        *notes,
        kind_of=lambda case: case.kind_of_result,
    )
    return sheet.finish([legend_of(pyplot, panels)], lines)


def draw_memory(pyplot, cases, arguments):
    cases = [case for case in cases if case.mark != "n/s"]  # an unsupported case takes no memory
    cases = known(cases, memory_of, "a size of its memory")
    panels = Panels(with_value(cases, memory_of))
    sheet = Sheet(pyplot, len(panels.keys), arguments.width)
    notes = draw_panels(sheet, panels, memory_of)
    for axes in sheet.panels:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda size, _: size_text(size))
        axes.yaxis.set_minor_formatter("")
    sheet.share_limits()
    sheet.label_axes(panels.x_label, "memory")
    lines = caption.caption(
        with_value(cases, memory_of),
        panels,
        caption.MEMORY_MEANING,
        *notes,
        kind_of=lambda case: case.kind_of_memory,
    )
    return sheet.finish([legend_of(pyplot, panels)], lines)
