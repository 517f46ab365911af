"""Throughput over arithmetic intensity, under what the device allows: a point for each case."""

from figures import caption, style
from figures.bars import throughput, with_times
from figures.panels import Panels, series_label

EDGE = 1.5  # the roof goes on so many times beyond the points


def intensity(case):
    """FLOP a byte of the tensors, each moved once."""
    return case.flops / case.bytes


def draw_roof(axes, peak, intensities):
    tflops, gbps = peak
    knee = 1000 * tflops / gbps
    ends = [min([*intensities, knee]) / EDGE, knee, max([*intensities, knee]) * EDGE]
    axes.plot(ends, [min(tflops, x * gbps / 1000) for x in ends], color="black", linewidth=0.8)
    axes.annotate(f"{tflops:g} TFLOP/s, {gbps:g} GB/s", (ends[1], tflops), fontsize=6, va="bottom")


def draw_points(axes, panels, at):
    for series, cases in at.items():
        points = [case for case in cases.values() if case.time and case.bytes]
        values = [throughput(case) for case in points]
        colour = style.colour_of(series, panels.series)
        for case, value in zip(points, values):
            axes.errorbar(
                intensity(case),
                value.value,
                yerr=[[value.value - value.low], [value.high - value.value]],
                marker=style.marker_of(series, panels.series),
                markersize=4,
                color=colour,
                markerfacecolor="white" if case.kind == "predicted" else colour,
                linewidth=0.6,
            )


def draw_roofline(pyplot, cases, _arguments):
    cases = with_times(cases)
    panels = Panels(cases)
    figure, all_axes = style.new_figure(pyplot, len(panels.keys), shares_scale=True)
    for axes, key in zip(all_axes, panels.keys):
        at = panels.of[key]
        drawn = [case for of in at.values() for case in of.values() if case.time and case.bytes]
        peaks = {case.peak for case in drawn if case.peak}
        for peak in peaks:
            draw_roof(axes, peak, [intensity(case) for case in drawn])
        draw_points(axes, panels, at)
        axes.set(xscale="log", yscale="log", title=panels.title(key))
        axes.yaxis.set_minor_formatter("")
        if axes.get_subplotspec().is_last_row():
            axes.set_xlabel("FLOP / byte of the tensors")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("TFLOP/s")
        axes.grid(alpha=0.3, which="both")
    handles = [
        pyplot.Line2D(
            [],
            [],
            color=style.colour_of(each, panels.series),
            marker=style.marker_of(each, panels.series),
            linestyle="",
        )
        for each in panels.series
    ]
    meaning = dict(caption.MEANING, predicted="predicted by a model (hollow); whiskers: its band")
    style.finish(
        figure,
        handles,
        [series_label(each) for each in panels.series],
        caption.caption(cases, panels, meaning),
    )
    return figure
