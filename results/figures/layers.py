"""Encoder layers in the layout of SparkAttention's Figure 12: grouped bars by sequence length,
stacked by stage, with the speed-up over one of the layers."""

import dataclasses

from figures import bars, caption, style
from figures.panels import Panels, series_label
from figures.sheet import Sheet

UNFUSED = ("cublas-fp16, rest unfused", "unfused-fp16, rest unfused", "unfused-fp16, rest eager")
BAR_POINTS = 4.0  # wide enough for a letter above each bar
STAGES = ("qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2")
# The attention has a strong colour. The products share one colour, and so do the row operations.
COLOURS = {
    "qkv": "#56b4e9",
    "mha": "#d55e00",
    "proj": "#0072b2",
    "ln1": "#009e73",
    "ff1": "#7f7f7f",
    "ff2": "#b0b0b0",
    "ln2": "#cc79a7",
}


def of_layers(cases):
    """The layers among the cases; each series is a kernel and a rest. Throws ValueError if there
    are none."""
    layers = [
        dataclasses.replace(
            case,
            kernel=f"{case.kernel}, rest {case.axes['rest']}",
            axes={**case.axes, "rest": None},
        )
        for case in cases
        if case.axes["rest"]
    ]
    if not layers:
        raise ValueError("no case is of an encoder layer; `sparkbench encoder` makes some")
    return layers


def draw_layer_speedup(pyplot, cases, arguments):
    layers = bars.with_times(of_layers(cases))
    reference = bars.baseline_of(layers, arguments.reference, UNFUSED)
    return bars.speedup_figure(pyplot, layers, reference, arguments.width)


def letter_of(series, panels):
    return chr(ord("a") + panels.series.index(series))


class StackedPanel(bars.BarPanel):
    """A bar of stacked stages, each in its colour, with the letter of its series above."""

    def __init__(self, axes, panels, key, bar_points):
        super().__init__(axes, panels, key, None)
        self._letter_size = min(style.SMALLEST + 1, 1.5 * bar_points)  # narrower than the bar

    def _draw_case(self, x, series, case):
        if not case or case.mark or not case.stages:
            return self._draw_mark(x, (case.mark if case else "") or bars.ABSENT)
        bottom = 0.0
        for stage in STAGES:
            height = case.stages.get(stage, 0.0)
            self._axes.bar(
                x,
                height,
                0.92 * self._width,
                bottom=bottom,
                color=COLOURS[stage],
                edgecolor="white",
                hatch=style.PREDICTED_HATCH if case.kind == "predicted" else None,
                linewidth=0.2,
            )
            bottom += height
        letter = letter_of(series, self._panels)
        self._axes.text(x, bottom, letter, ha="center", va="bottom", fontsize=self._letter_size)


def legends_of(pyplot, panels):
    """The stages' colours, and the names for the letters."""
    stages = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS[stage]) for stage in STAGES]
    letters = [f"{letter_of(each, panels)}: {series_label(each)}" for each in panels.series]
    return [(stages, STAGES), ([], letters)]


def draw_layers(pyplot, cases, arguments):
    layers = bars.with_times(of_layers(cases))
    if not any(case.stages for case in layers):
        raise ValueError("no case has stages: a CSV leaves them out, --json or --out has them")
    panels = Panels(layers)
    sheet = Sheet(pyplot, len(panels.keys), arguments.width, bars.least_width(panels, BAR_POINTS))
    marks = set()
    for axes, key in zip(sheet.panels, panels.keys):
        count = len(panels.series) * len(panels.lengths_in(key))
        panel = StackedPanel(axes, panels, key, sheet.points_of_bar(count))
        panel.draw()
        marks |= panel.marks
    sheet.label_axes(panels.x_label, "ms")
    lines = caption.caption_of_times(
        layers, panels, caption.STAGES_MEANING, caption.marks_line(marks), sheet.share_scale()
    )
    return sheet.finish(legends_of(pyplot, panels), lines)
