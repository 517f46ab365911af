"""The look of figures: a colour and a marker for each kernel, the same in every figure and in the
HTML page (which embeds kernels.json). The same run gives the same bytes. The colours are Okabe
and Ito's (2008) and Tol's (2021), which colour-blind readers can distinguish."""

import dataclasses
import json
import pathlib
import sys

_TABLE = json.loads((pathlib.Path(__file__).parent / "kernels.json").read_text("utf-8"))
KERNELS = _TABLE["kernels"]
# Kernels outside the table take one of these, by the sum of their name's bytes.
OTHER_COLOURS, OTHER_MARKERS = tuple(_TABLE["other_colours"]), _TABLE["other_markers"]
GREY, GOOD, BAD = "#7f7f7f", "#009e73", "#d55e00"
MARK_COLOUR = "#a00000"  # for "OOM" and the like
PREDICTED_HATCH = "////"
FORMATS = ("svg", "pdf", "png")
FONT_SIZE = 8.0  # points
SMALLEST = 5.0


class MissingMatplotlib(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Look:
    """The look of a series. A kernel's second series (another run, another rest of the layer) is
    paler and its line is dashed."""

    colour: str
    marker: str
    line: str = "-"


def how_to_install():
    if sys.prefix != sys.base_prefix:  # in a virtual environment
        return f"{sys.executable} -m pip install matplotlib"
    return "apt-get install python3-matplotlib, or pip install matplotlib in a virtual environment"


def load_pyplot(font_size=FONT_SIZE):
    try:
        import matplotlib
    except ImportError as error:
        raise MissingMatplotlib(f"matplotlib is missing; install it: {how_to_install()}") from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "sparkbench",  # otherwise ids change from one drawing to the next
            "pdf.fonttype": 42,
            "font.size": font_size,
            "axes.titlesize": font_size,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "hatch.linewidth": 0.6,
            "lines.linewidth": 1.1,
            "lines.markersize": 0.45 * font_size,
        }
    )
    from matplotlib import pyplot

    return pyplot


def small(pyplot, points=1):
    """Size for text that may be smaller than the rest."""
    return max(pyplot.rcParams["font.size"] - points, SMALLEST)


def save(figure, path):
    """Throws ValueError for another kind of file."""
    suffix = path.suffix.lstrip(".")
    if suffix not in FORMATS:
        raise ValueError(f"-o {path}: allowed: a file of .{', .'.join(FORMATS)}")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    figure.savefig(path, metadata=dates[suffix], dpi=200)


def kernel_of(series):
    """For a layer, its attention's kernel: "volta-fp32acc" for "volta-fp32acc, rest fused"."""
    return series[0].partition(", rest ")[0]


def colours_of_kernels(kernels):
    """{kernel: colour}. Up to eight kernels that are not in the table get different colours."""
    colours, taken = {}, set()
    for kernel in kernels:
        if kernel in KERNELS:
            colours[kernel] = KERNELS[kernel]["colour"]
            continue
        first = sum(kernel.encode()) % len(OTHER_COLOURS)
        order = [*OTHER_COLOURS[first:], *OTHER_COLOURS[:first]]
        colours[kernel] = next((each for each in order if each not in taken), order[0])
        taken.add(colours[kernel])
    return colours


def paler(colour, share):
    """The colour with a share `share` of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)


def looks_of(all_series):
    """{series: Look}"""
    colours = colours_of_kernels(sorted({kernel_of(series) for series in all_series}))
    seen, looks = {}, {}
    for series in all_series:
        kernel = kernel_of(series)
        nth = seen[kernel] = seen.get(kernel, -1) + 1
        other = OTHER_MARKERS[sum(kernel.encode()) % len(OTHER_MARKERS)]
        looks[series] = Look(
            colour=paler(colours[kernel], min(0.45 * nth, 0.8)),
            marker=KERNELS.get(kernel, {}).get("marker", other),
            line=("-", "--", ":", "-.")[nth % 4],
        )
    return looks
