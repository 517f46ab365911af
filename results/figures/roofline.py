"""Throughput over arithmetic intensity, under the device's roofline: one point for each case."""

import math

from figures import alike, caption, style
from figures.bars import throughput, with_times
from figures.panels import Panels, series_label
from figures.sheet import Sheet, log_ticks

ALIKE = 0.05  # of the larger value: points that differ by less everywhere coincide
ALIKE_NOTE = "points that coincide stand side by side"
EDGE = 1.5  # the roof extends past the points by this factor
# TFLOP/s and GB/s from NVIDIA's data sheets, as in harness/timing/gpu_peaks.cc. They are for the
# chip of a prediction, because an emulated device has no peaks of its own.
SPECIFIED = {"V100-SXM2": (125.0, 900.0)}
MEANING = {
    **caption.MEANING,
    "predicted": "predicted by a model, not measured (hollow); whiskers: its band",
}


def intensity(case):
    """FLOPs per byte of the tensors, each moved once."""
    return case.flops / case.bytes


def roofs_of(cases):
    """{(run, id): device of the peaks, TFLOP/s, GB/s}: the peaks of the case's device from any of
    the runs. Throws ValueError if they are unknown."""
    peaks = {case.axes["device"]: case.peak for case in cases if case.peak}
    return {(case.run, case.id): roof_of(case, peaks.get(case.axes["device"])) for case in cases}


def roof_of(case, peak):
    if peak:
        return (case.axes["device"], *peak)
    if case.kind == "predicted" and case.chip in SPECIFIED:
        return (f"{case.chip} by its data sheet", *SPECIFIED[case.chip])
    raise ValueError(
        f"--figure roofline: no peak TFLOP/s and GB/s of {case.axes['device']} are known, so there is no "
        f"roof (case {case.id}); allowed: a folder of --out or a file of --json whose device has "
        f"peak_tflops and peak_gbps (a CSV has none), or predictions of {', '.join(SPECIFIED)}"
    )


def draw_roof(axes, roof, ends):
    _, tflops, gbps = roof
    knee = 1000 * tflops / gbps
    xs = [ends[0], knee, ends[1]]
    axes.plot(xs, [min(tflops, x * gbps / 1000) for x in xs], color="black", linewidth=0.8)


def face_of(look, is_predicted):
    return "white" if is_predicted else look.colour


def draw_points(axes, panels, at):
    """Draws the points; returns whether some of them coincide."""
    looks = style.looks_of(panels.series)
    rows = {
        series: [throughput(of[each]).value if each in of else math.nan for each in panels.lengths]
        for series, of in at.items()
    }
    groups = alike.groups_of(rows, ALIKE)
    for group in groups:
        for i, series in enumerate(group):
            for case in at[series].values():
                place = alike.side_by_side(axes, i, len(group))
                draw_point(axes, case, looks[series], place)
    return any(len(group) > 1 for group in groups)


def draw_point(axes, case, look, place):
    value = throughput(case)
    axes.errorbar(
        intensity(case),
        value.value,
        yerr=[[value.value - value.low], [value.high - value.value]],
        marker=look.marker,
        color=look.colour,
        markerfacecolor=face_of(look, case.kind == "predicted"),
        linewidth=0.6,
        transform=place,
    )


def set_ticks(axes, sheet):
    """Plain numbers, few enough not to touch."""
    axes.minorticks_off()
    most = max(2, int(sheet.panel_inches() / 0.55))
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        ticks = log_ticks(*limits, min(most, 6))
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])


def legend_of(pyplot, cases, panels, roofs):
    measured = {panels.series_of(case) for case in cases if case.measured}
    handles = [
        pyplot.Line2D([], [], color=look.colour, marker=look.marker, linestyle="",
                      markerfacecolor=face_of(look, series not in measured))
        for series, look in style.looks_of(panels.series).items()
    ]  # fmt: skip
    labels = [series_label(each) for each in panels.series]
    roof_labels = [f"{name}: {tflops:g} TFLOP/s, {gbps:g} GB/s" for name, tflops, gbps in sorted(roofs)]
    roof_handles = [pyplot.Line2D([], [], color="black", linewidth=0.8) for _ in roofs]
    return [(handles, labels), (roof_handles, roof_labels)]


def draw_roofline(pyplot, cases, arguments):
    cases = [case for case in with_times(cases) if case.time and case.bytes]
    panels = Panels(cases)
    sheet = Sheet(pyplot, len(panels.keys), arguments.width)
    roofs = roofs_of(cases)
    knees = [1000 * tflops / gbps for _, tflops, gbps in roofs.values()]
    xs = [intensity(case) for case in cases] + knees
    ends = min(xs) / EDGE, max(xs) * EDGE
    lowest = min(throughput(case).low for case in cases)
    highest = max(tflops for _, tflops, _ in roofs.values())
    has_alike = False
    for axes, key in zip(sheet.panels, panels.keys):
        at = panels.of[key]
        for roof in sorted({roofs[each.run, each.id] for of in at.values() for each in of.values()}):
            draw_roof(axes, roof, ends)
        has_alike = draw_points(axes, panels, at) or has_alike
        axes.set(xscale="log", yscale="log", title=panels.title(key), xlim=ends)
        axes.set_ylim(lowest / EDGE, highest * EDGE)
        axes.grid(alpha=0.3)
    sheet.share_limits()
    for axes in sheet.panels:
        set_ticks(axes, sheet)
    sheet.label_axes("FLOP / byte of the tensors", "TFLOP/s")
    lines = caption.caption_of_times(cases, panels, MEANING, ALIKE_NOTE if has_alike else "")
    return sheet.finish(legend_of(pyplot, cases, panels, set(roofs.values())), lines)
