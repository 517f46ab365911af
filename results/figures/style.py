"""How figures look: colours that the colour-blind tell apart (Okabe and Ito, 2008) and that differ in
grey, sizes for a column of a paper, and the same bytes for the same run."""

import math
import textwrap

COLOURS = ("#7f7f7f", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
MARKERS = "osD^vP*X"
PREDICTED_HATCH = "////"
FORMATS = ("svg", "pdf", "png")
PANEL_WIDTH, PANEL_HEIGHT = 2.7, 2.0  # inches
MOST_COLUMNS = 4


class MissingMatplotlib(Exception):
    pass


def load_pyplot():
    try:
        import matplotlib
    except ImportError as error:
        raise MissingMatplotlib(
            "matplotlib is missing; install it (apt-get install python3-matplotlib)"
        ) from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "sparkbench",  # else ids differ from one drawing to the next
            "pdf.fonttype": 42,
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "hatch.linewidth": 0.6,
        }
    )
    from matplotlib import pyplot

    return pyplot


def save(figure, path):
    """Throws ValueError for another kind of file."""
    suffix = path.suffix.lstrip(".")
    if suffix not in FORMATS:
        raise ValueError(f"-o {path}: allowed: a file of .{', .'.join(FORMATS)}")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    figure.savefig(path, metadata=dates[suffix], dpi=200)


def colour_of(series, all_series):
    return COLOURS[all_series.index(series) % len(COLOURS)]


def marker_of(series, all_series):
    return MARKERS[all_series.index(series) % len(MARKERS)]


def new_figure(pyplot, count, shares_scale=False):
    """A figure of `count` panels, and these; panels of a row may share their scale."""
    columns = min(count, MOST_COLUMNS if count % MOST_COLUMNS == 0 else 3)
    rows = math.ceil(count / columns)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        figsize=(max(PANEL_WIDTH * columns, 5.0), PANEL_HEIGHT * rows + 0.7),
        squeeze=False,
        sharey="row" if shares_scale else False,
        layout="constrained",
    )
    for axes in list(grid.flat)[count:]:
        axes.set_axis_off()
    return figure, list(grid.flat)[:count]


def finish(figure, handles, labels, lines):
    """The legend above, and below what the figure's numbers are."""
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 4), frameon=False)
    size = 7
    # A letter is about half as wide as its size, of 72nds of an inch.
    most = int(figure.get_figwidth() * 72 / (0.55 * size))
    wrapped = [part for line in lines for part in textwrap.wrap(line, most)]
    figure.supxlabel("\n".join(wrapped), fontsize=size, color="#444444")
