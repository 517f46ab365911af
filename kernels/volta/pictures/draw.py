#!/usr/bin/env python3
"""Draws the two pictures of ../README.md, as SVG beside this script.

    kernels/volta/pictures/draw.py

quad_grid.svg follows the formulas of ../tile/quad_grid.h. d64_timeline.svg draws
d64_timeline.csv, which the cycle model wrote: of each 48 clocks the share in which one scheduler's
tensor pipe and XU, and the SM's shared memory, serve block 0 and block 1. Needs Python alone, and
writes the same bytes each time.
"""

import csv
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FONT = "font-family='Helvetica, Arial, sans-serif'"
QUAD_PAIR = {(0, 0): "#cfe3f7", (0, 1): "#fbe0c3", (1, 0): "#d3efd2", (1, 1): "#ecd9f2"}
BLOCK = ("#2b6cb0", "#dd7a1f")
LIGHT_BLOCK = ("#90bce8", "#f5c08b")
INK, FAINT = "#1f2328", "#59636e"


class Picture:
    """Shapes on a white ground, so that it reads alike in a light and in a dark page."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def rect(self, x, y, width, height, fill, stroke="none", stroke_width=1):
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' fill='{fill}' "
            f"stroke='{stroke}' stroke-width='{stroke_width:g}'/>"
        )

    def line(self, x1, y1, x2, y2, dash=""):
        self.parts.append(
            f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{FAINT}' "
            f"stroke-dasharray='{dash}'/>"
        )

    def text(self, x, y, words, size=13, anchor="start", color=INK, weight="normal"):
        self.parts.append(
            f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' "
            f"font-weight='{weight}' fill='{color}'>{words}</text>"
        )

    def save(self, path):
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{self.width}' height='{self.height}' "
            f"viewBox='0 0 {self.width} {self.height}' {FONT}>"
        )
        ground = f"<rect width='{self.width}' height='{self.height}' fill='white'/>"
        path.write_text("\n".join([head, ground, *self.parts, "</svg>"]) + "\n", encoding="utf-8")


# The formulas of quad_grid.h and machine/mma/m8n8k4.h.
def row_half(lane):
    return (lane >> 3) & 1


def column_half(lane):
    return (lane >> 2) & 1


def operand_row(lane):
    return 8 * row_half(lane) + (lane & 3) + ((lane & 16) >> 2)


def operand_key(lane):
    return 8 * (lane >> 4) + 4 * column_half(lane) + (lane & 3)


def scores_of(lane):
    """[(row, key)] of the FP32 scores that a lane holds of one step, eight of them."""
    pair = 2 * column_half(lane) + ((lane >> 1) & 1)
    held = []
    for quartet in range(2):
        row = 8 * row_half(lane) + (lane & 1) + 2 * quartet + ((lane & 16) >> 2)
        held += [(row, 8 * h + 2 * pair + e) for h in range(2) for e in range(2)]
    return held


def draw_quad_grid(path):
    cell, left, top = 30, 190, 118
    picture = Picture(940, 655)
    picture.text(20, 28, "S = Q Kᵀ: 16 queries x 16 keys, one warp instruction", 17, weight="bold")
    picture.text(left + 8 * cell, 58, "keys of a step, and the lanes that feed K (B)", 13, "middle")
    for n, words in enumerate(("queries,", "and the", "lanes that", "feed Q (A)")):
        picture.text(20, top + 8 * cell - 24 + 18 * n, words)
    for i in range(16):
        middle = left + i * cell + cell / 2
        feeders = sorted(lane for lane in range(32) if operand_key(lane) == i)
        picture.text(middle, 78, i, 12, "middle", weight="bold")
        picture.text(middle, 94, feeders[0], 11, "middle", FAINT)
        picture.text(middle, 108, feeders[1], 11, "middle", FAINT)
        feeders = sorted(lane for lane in range(32) if operand_row(lane) == i)
        base = top + i * cell + cell / 2 + 4
        picture.text(left - 66, base, i, 12, "end", weight="bold")
        picture.text(left - 8, base, ", ".join(map(str, feeders)), 11, "end", FAINT)
    marked = set(scores_of(0))
    for lane in range(32):
        for row, key in scores_of(lane):
            x, y = left + key * cell, top + row * cell
            fill = QUAD_PAIR[row_half(lane), column_half(lane)]
            picture.rect(x, y, cell, cell, fill, "white")
            weight = "bold" if (row, key) in marked else "normal"
            picture.text(x + cell / 2, y + cell / 2 + 4, lane, 11, "middle", INK, weight)
    for row, key in sorted(marked):
        picture.rect(left + key * cell + 1, top + row * cell + 1, cell - 2, cell - 2, "none", INK, 2)
    x = left + 16 * cell + 26
    legend = [
        "Numbers in cells: the lane that",
        "holds this score (FP32-ACC).",
        "",
        "Framed: lane 0's two quartets.",
        "A quartet is four keys of a row.",
        "One Philox block decides about it,",
        "and it is one k-step of P V.",
    ]
    for n, words in enumerate(legend):
        picture.text(x, top + 22 + 19 * n, words, 12)
    for n, (pair, fill) in enumerate(QUAD_PAIR.items()):
        y = top + 190 + 27 * n
        first = 8 * pair[0] + 4 * pair[1]
        picture.rect(x, y, 18, 18, fill)
        lanes = f"lanes {first} to {first + 3}, {first + 16} to {first + 19}"
        picture.text(x + 26, y + 14, lanes, 12)
    picture.text(
        20, 624, "Two lanes feed each operand, one for each quad-pair that needs it.", 12
    )
    picture.text(20, 642, "So each key of K serves 16 queries, and each query of Q 16 keys.", 12)
    picture.save(path)


def read_timeline():
    with open(HERE / "d64_timeline.csv", newline="", encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def draw_stack(picture, rows, scale, left, base, height, layers):
    """Bars of height `height` times a share, the layers [(column, color)] on each other."""
    width = rows[1]["clock"] - rows[0]["clock"]
    for row in rows:
        y = base
        for column, color in layers:
            tall = height * min(row[column], 1.0)
            if tall > 0:
                y -= tall
                picture.rect(left + scale * row["clock"], y, scale * width + 0.1, tall, color)


def draw_timeline(path):
    rows = read_timeline()
    end = rows[-1]["clock"] + rows[1]["clock"]
    left, scale, height = 150, 720 / end, 74
    picture = Picture(900, 470)
    title = "One tile of 64 keys at head_dim 64, FP32-ACC, two blocks of an SM out of step"
    picture.text(20, 28, title, 17, weight="bold")
    lanes = [
        ("tensor pipe", "of one scheduler", [
            ("qk_0", BLOCK[0]), ("pv_0", LIGHT_BLOCK[0]),
            ("qk_1", BLOCK[1]), ("pv_1", LIGHT_BLOCK[1])]),
        ("exp2 (XU)", "of one scheduler", [("xu_0", BLOCK[0]), ("xu_1", BLOCK[1])]),
        ("shared memory", "of the whole SM", [("lsu_0", BLOCK[0]), ("lsu_1", BLOCK[1])]),
    ]
    for n, (name, of, layers) in enumerate(lanes):
        base = 130 + n * (height + 30)
        busy = sum(row[column] for row in rows for column, _ in layers) / len(rows)
        picture.text(20, base - 46, name, 14, weight="bold")
        picture.text(20, base - 28, of, 12, color=FAINT)
        picture.text(20, base - 10, f"{100 * busy:.0f} % busy", 12, color=FAINT)
        picture.rect(left, base - height, scale * end, height, "#f3f4f6")
        draw_stack(picture, rows, scale, left, base, height, layers)
    axis = 130 + 2 * (height + 30) + 8
    for clock in range(0, int(end), 1000):
        picture.line(left + scale * clock, 50, left + scale * clock, axis, "2 4")
        picture.text(left + scale * clock, axis + 16, f"{clock}", 12, "middle", FAINT)
    picture.text(left + scale * end, axis + 34, "clocks", 12, "end", FAINT)
    legend = [(BLOCK[0], "block 0: Q Kᵀ, softmax, loads"), (LIGHT_BLOCK[0], "block 0: P V"),
              (BLOCK[1], "block 1: Q Kᵀ, softmax, loads"), (LIGHT_BLOCK[1], "block 1: P V")]
    for n, (color, words) in enumerate(legend):
        x, y = left + 300 * (n % 2), axis + 58 + 24 * (n // 2)
        picture.rect(x, y - 12, 16, 16, color)
        picture.text(x + 24, y + 1, words)
    picture.save(path)


if __name__ == "__main__":
    draw_quad_grid(HERE / "quad_grid.svg")
    draw_timeline(HERE / "d64_timeline.svg")
