"""Encoder layers in the layout of SparkAttention's Figure 12: grouped bars by sequence length, stacked
by stage, and the speed-up over one of the layers."""

import dataclasses

from figures import bars, caption, style
from figures.panels import Panels, series_label

UNFUSED = "unfused-fp16, rest unfused"
STAGES = ("qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2")
# The attention stands out; the products are of one colour, and so are the rows.
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
    """The layers among the cases, each series a kernel and a rest. Throws ValueError without any."""
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
    reference = UNFUSED if arguments.reference == "cublas-fp16" else arguments.reference
    ratios = bars.speedups(layers, reference)
    return bars.bar_figure(
        pyplot,
        [case for case in layers if case.kernel != reference],
        lambda case: ratios.get((case.run, case.id)),
        f"speed-up over {reference}",
        baseline=1.0,
    )


class StackedPanel(bars.BarPanel):
    """A bar's stages upon each other, each in its colour; whose bar it is, its place says."""

    def _draw_case(self, x, series, case):
        if not case or case.mark or not case.stages:
            return self._draw_mark(x, (case.mark if case else "") or bars.ABSENT)
        bottom = 0.0
        for stage in STAGES:
            height = case.stages.get(stage, 0.0)
            hatch = style.PREDICTED_HATCH if case.kind == "predicted" else None
            self._axes.bar(
                x,
                height,
                0.92 * self._width,
                bottom=bottom,
                color=COLOURS[stage],
                edgecolor="white",
                hatch=hatch,
                linewidth=0.2,
            )
            bottom += height
        letter = chr(ord("a") + self._panels.series.index(series))
        self._axes.text(x, bottom, letter, ha="center", va="bottom", fontsize=6)


def draw_layers(pyplot, cases, _arguments):
    layers = bars.with_times(of_layers(cases))
    if not any(case.stages for case in layers):
        raise ValueError("no case has stages: a CSV leaves them out, --json or --out has them")
    panels = Panels(layers)
    figure, all_axes = style.new_figure(pyplot, len(panels.keys), shares_scale=True)
    marks = set()
    for axes, key in zip(all_axes, panels.keys):
        panel = StackedPanel(axes, panels, key, None)
        panel.draw()
        marks |= panel.marks
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("ms")
    for axes in all_axes:
        axes.set_ylim(bottom=0)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS[stage]) for stage in STAGES]
    letters = "; ".join(
        f"{chr(ord('a') + i)}: {series_label(each)}" for i, each in enumerate(panels.series)
    )
    lines = caption.caption(
        layers, panels, caption.SHORT_MEANING, letters, caption.marks_line(marks)
    )
    style.finish(figure, handles, STAGES, lines)
    return figure
