"""A figure of panels, with legends above and captions below. Its height follows from its contents,
so that nothing is cut off at the requested width."""

import math

from figures import style

PANEL_WIDTH, PANEL_HEIGHT = 2.7, 2.0  # inches, at the usual font size
LEAST_WIDTH = 1.6  # of a panel
ONE_PANEL = 5.0
MOST_COLUMNS = 4
EDGE = 0.06
SAME_SCALE = 6.0  # if the panels' largest values differ by more, each has its own scale


class Sheet:
    """`count` empty panels. A panel is at least `least` inches wide if the figure's width allows
    it."""

    def __init__(self, pyplot, count, width=None, least=LEAST_WIDTH, height=PANEL_HEIGHT):
        self._pyplot = pyplot
        self._scale = max(1.0, pyplot.rcParams["font.size"] / style.FONT_SIZE)
        columns = min(count, MOST_COLUMNS if count % MOST_COLUMNS == 0 else 3)
        self.width = width or max(PANEL_WIDTH * columns, ONE_PANEL)
        columns = max(1, min(columns, int(self.width / (max(least, LEAST_WIDTH) * self._scale))))
        self._rows = math.ceil(count / columns)
        self._columns = math.ceil(count / self._rows)  # as even as possible
        self.figure, grid = pyplot.subplots(
            self._rows, self._columns, squeeze=False, layout="constrained"
        )
        self._panel_height = height * self._scale
        self.figure.set_size_inches(self.width, self._panel_height * self._rows)
        for axes in list(grid.flat)[count:]:
            axes.set_axis_off()
        self.panels = list(grid.flat)[:count]

    def panel_inches(self):
        return self.width / self._columns

    def points_of_bar(self, bars):
        """The width of one of so many bars in a panel. The space beside the axis is a guess."""
        return 72 * (self.panel_inches() - 0.5 * self._scale) / max(bars, 1)

    def label_axes(self, x, y):
        """Axis labels: x below the lowest panel of a column, y left of the first."""
        for i, axes in enumerate(self.panels):
            if i + self._columns >= len(self.panels):
                axes.set_xlabel(x)
            if i % self._columns == 0:
                size = self._pyplot.rcParams["font.size"]
                axes.set_ylabel(self._wrapped(y, size, 0.8 * self._panel_height))

    def share_scale(self):
        """One scale for all panels, from 0; returns a note if they differ too much for one."""
        tops = [axes.get_ylim()[1] for axes in self.panels]
        if max(tops) > SAME_SCALE * min(tops):
            for axes in self.panels:
                axes.set_ylim(bottom=0)
            return "each panel has a scale of its own"
        self._set_limits(0, max(tops))
        return ""

    def share_limits(self):
        """One scale for all panels in any case."""
        limits = [axes.get_ylim() for axes in self.panels]
        self._set_limits(min(low for low, _ in limits), max(high for _, high in limits))

    def _set_limits(self, low, high):
        for i, axes in enumerate(self.panels):
            axes.set_ylim(low, high)
            axes.tick_params(labelleft=i % self._columns == 0)

    def finish(self, legends, lines):
        """`legends` are pairs of handles and labels, one below the other. Without handles only the
        labels are shown."""
        for axes in self.panels:
            self._wrap_title(axes)
        self._write(lines)
        made = [self._legend(*each) for each in legends]
        heights = [self._height(each) for each in made]
        above = sum(heights) + EDGE * (1 + len(heights))
        total = self.figure.get_figheight() + self._turn_crowded_ticks() + self._below + above
        self.figure.set_size_inches(self.width, total)
        top = 1.0
        for legend, height in zip(made, heights):
            legend.set_bbox_to_anchor((0.5, top - EDGE / total), self.figure.transFigure)
            top -= (height + EDGE) / total
        self.figure.get_layout_engine().set(rect=(0, 0, 1, top))
        return self.figure

    def _renderer(self):
        return self.figure.canvas.get_renderer()

    def _height(self, artist):
        return artist.get_window_extent(self._renderer()).height / self.figure.dpi

    def _text_inches(self, text, size):
        made = self.figure.text(0, 0, text, fontsize=size)
        inches = made.get_window_extent(self._renderer()).width / self.figure.dpi
        made.remove()
        return inches

    def _wrapped(self, text, size, inches, separator=" "):
        lines = []
        for word in text.split(separator):
            longer = f"{lines[-1]}{separator}{word}" if lines else word
            if lines and self._text_inches(longer, size) <= inches:
                lines[-1] = longer
            else:
                lines.append(word)
        return f"{separator.rstrip()}\n".join(lines)

    def _wrap_title(self, axes):
        size = axes.title.get_fontsize()
        room = self.panel_inches() - 0.4 * self._scale
        axes.set_title(self._wrapped(axes.get_title(), size, room, ", "))

    def _write(self, lines):
        size = style.small(self._pyplot)
        room = self.width - 2 * EDGE
        texts = [self._wrapped(line, size, room) for line in lines if line]
        self._below = 0.0
        if texts:
            written = self.figure.supxlabel("\n".join(texts), fontsize=size, color="#444444")
            self._below = self._height(written)

    def _legend(self, handles, labels):
        """Uses as many columns as fit; breaks labels that do not fit by themselves."""
        size = self._pyplot.rcParams["font.size"]
        room = self.width - 2 * EDGE - 0.6 * self._scale
        labels = [self._wrapped(label, size, room) for label in labels]
        bare = {} if handles else {"handlelength": 0, "handletextpad": 0}
        handles = handles or [self._pyplot.Line2D([], [], linestyle="") for _ in labels]
        for columns in range(len(labels), 0, -1):
            rows = math.ceil(len(labels) / columns)
            if columns > 1 and math.ceil(len(labels) / (columns - 1)) == rows:
                continue  # the same height with fewer columns, and more even
            legend = self.figure.legend(
                handles,
                labels,
                loc="upper center",
                ncols=columns,
                frameon=False,
                borderaxespad=0,
                borderpad=0.1,
                columnspacing=1.2,
                **{"handlelength": 1.6, **bare},
            )
            width = legend.get_window_extent(self._renderer()).width / self.figure.dpi
            if width <= self.width - 2 * EDGE or columns == 1:
                return legend
            legend.remove()

    def _turn_crowded_ticks(self):
        """Rotates labels that would touch. Returns the height that this takes, in inches."""
        size = self._pyplot.rcParams["font.size"]
        room = self.panel_inches() - 0.5 * self._scale
        taken = 0.0
        for axes in self.panels:
            widths = [self._text_inches(each.get_text(), size) for each in axes.get_xticklabels()]
            if sum(widths) + 0.05 * len(widths) > room:
                axes.tick_params(axis="x", rotation=90)
                taken = max(taken, *widths)
        return taken * self._rows


def log_ticks(low, high, most):
    """1, 2, 5, 10, ... within the ends, or 1, 10, 100, ... if that gives more than `most`."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]
