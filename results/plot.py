#!/usr/bin/env python3
"""Draws figures of runs of sparkbench.

    results/plot.py RUN...                                       # throughput, or the error
    results/plot.py --figure speedup --reference cublas-fp16 runs/today -o speedup.pdf
    results/plot.py --figure error --where mask=causal,dropout=0 cases.csv

RUN is a folder of --out, a file of --json, or a cases.csv; one figure can show several runs.
Axes that vary (pass, head_dim, mask, ...) get one panel per value, and nothing is averaged.
Predicted times are hatched; a mark replaces a missing time. The same runs give the same bytes.
"""

import argparse
import pathlib
import sys

from figures import advice, bars, difference, layers, lines, panels, roofline, style
from figures.cases import AXES, read_run
from figures.meant import number_within, one_of

FIGURES = {
    "throughput": (bars.draw_throughput, "grouped bars of TFLOP/s (SparkAttention, Figures 10, 11)"),
    "speedup": (bars.draw_speedup, "the same of the speed-up over --reference"),
    "layers": (layers.draw_layers, "encoder layers, stacked by stage (SparkAttention, Figure 12)"),
    "layer-speedup": (layers.draw_layer_speedup, "encoder layers over --reference, or the unfused one"),
    "error": (lines.draw_error, "--metric over seqlen, of the worst output"),
    "memory": (lines.draw_memory, "the peak over seqlen, measured or else predicted"),
    "roofline": (roofline.draw_roofline, "TFLOP/s over FLOP a byte, under the device's peaks"),
    "advice": (advice.draw_advice, "time, memory and error of each kernel on one problem"),
    "diff": (difference.draw_diff, "the second run's times over the first's"),
}


def parser():
    of_figures = "; ".join(f"{name}: {what}" for name, (_, what) in FIGURES.items())
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("run", nargs="+", help="folder of --out, file of --json, or cases.csv")
    found.add_argument(
        "--figure",
        type=one_of(FIGURES),
        metavar="FIGURE",
        help=f"{of_figures}. Default: throughput, or error where there are no times",
    )
    found.add_argument(
        "-o",
        "--output",
        type=pathlib.Path,
        help=f".{', .'.join(style.FORMATS)}; default: the figure's name as .svg",
    )
    found.add_argument("--kernel", default="", help="names, separated by commas; default: all")
    found.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help=f"only these cases, several values by commas; of {', '.join(AXES)}",
    )
    found.add_argument(
        "--reference",
        help="kernel of --figure speedup; default: cublas-fp16 where the runs have its times, else "
        "unfused-fp16; of layer-speedup: these with ', rest unfused'",
    )
    found.add_argument(
        "--metric",
        default="rel_l1",
        type=one_of(lines.ERROR_LABELS),
        help=f"of --figure error: {', '.join(lines.ERROR_LABELS)} (%(default)s)",
    )
    found.add_argument(
        "--width",
        type=number_within(2, 40),
        metavar="INCHES",
        help="of the whole figure (2 to 40), as 3.3 for a column; default: by the number of panels. "
        "The height follows",
    )
    found.add_argument(
        "--font-size",
        type=number_within(5, 24),
        default=style.FONT_SIZE,
        metavar="PT",
        help="of titles, axes and legends, in points (5 to 24; %(default)g)",
    )
    return found


def chosen_cases(arguments):
    cases = [case for run in arguments.run for case in read_run(run)]
    kernels = [name for name in arguments.kernel.split(",") if name]
    for condition in arguments.where:
        cases = panels.where(cases, [condition])
    cases = panels.of_kernels(cases, kernels)
    if not cases:
        raise ValueError("the runs have no case")
    return cases


def main(words=None):
    arguments = parser().parse_args(words)
    try:
        cases = chosen_cases(arguments)
        has_times = any(case.time for case in cases)
        name = arguments.figure or ("throughput" if has_times else "error")
        output = arguments.output or pathlib.Path(f"{name}.svg")
        if output.suffix.lstrip(".") not in style.FORMATS:
            raise ValueError(f"-o {output}: allowed: a file of .{', .'.join(style.FORMATS)}")
        pyplot = style.load_pyplot(arguments.font_size)
        style.save(FIGURES[name][0](pyplot, cases, arguments), output)
    except ValueError as error:
        print(f"plot.py: {error}", file=sys.stderr)
        sys.exit(2)
    except (OSError, style.MissingMatplotlib) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, style.MissingMatplotlib) else 5)
    print(output)


if __name__ == "__main__":
    main()
