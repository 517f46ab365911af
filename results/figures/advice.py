"""One problem in a picture: a bar for each kernel's time, memory and error."""

from figures import caption, style
from figures.bars import paint
from figures.lines import memory_of
from figures.sheet import Sheet

BAR = 0.7


def one_problem(cases):
    """Throws ValueError if the cases have several problems."""
    problems = {case.problem()[1:] for case in cases}  # whatever the device
    if len(problems) > 1:
        raise ValueError(f"--figure advice: the run has {len(problems)} problems; choose one by --where")
    return cases


def draw_bars(axes, cases, colours, value_of, label):
    """`value_of` a case is (value, low, high), or None."""
    for place, case in enumerate(cases):
        found = value_of(case)
        if found is None:
            axes.text(0, place, " not known", va="center", color=style.MARK_COLOUR)
            continue
        value, low, high = found
        is_predicted = label.startswith("time") and case.kind == "predicted"
        axes.barh(place, value, BAR, linewidth=0.8, **paint(colours[case.kernel], is_predicted))
        if high > low:
            axes.errorbar(
                value, place, xerr=[[value - low], [high - value]], color="black", linewidth=0.6, capsize=2
            )
    axes.set_xlim(left=0)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_yticks(range(len(cases)), [])
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.3)


def time_of(case):
    return (case.time.value, case.time.low, case.time.high) if case.time else None


def gib_of(case):
    found = memory_of(case)
    return None if found is None else (found / 2**30,) * 3


def error_of(case):
    found = case.errors.get("rel_l1")
    return None if found is None else (100 * found,) * 3


def draw_advice(pyplot, cases, arguments):
    cases = one_problem([case for case in cases if case.status not in ("skipped", "failed")])
    cases = sorted(cases, key=lambda case: case.time.value if case.time else float("inf"))
    colours = style.colours_of_kernels([case.kernel for case in cases])
    sheet = Sheet(pyplot, 3, arguments.width, height=0.6 + 0.25 * len(cases))
    columns = ((time_of, "time, ms"), (gib_of, "memory, GiB"), (error_of, "rel_l1, %"))
    for axes, (value_of, label) in zip(sheet.panels, columns):
        draw_bars(axes, cases, colours, value_of, label)
    sheet.panels[0].set_yticks(range(len(cases)), [case.kernel for case in cases])
    axes = cases[0].axes
    problem = ", ".join(f"{name} {axes[name]}" for name in ("pass", "head_dim", "seqlen", "mask", "dropout",
                                                            "batch", "heads"))  # fmt: skip
    return sheet.finish([], [problem, caption.devices_line(cases, caption.MEANING)])
