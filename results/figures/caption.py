"""The lines below a figure: the device, measured or predicted, the uncertainty, and the marks."""

from figures.cases import MARK_MEANINGS
from figures.panels import constant_text

MEANING = {
    "measured": "measured; whiskers: the middle half of the samples",
    "predicted": "predicted by a model, not measured (hatched); whiskers: its band",
    "emulated": "emulated, without times",
}
STAGES_MEANING = {
    "measured": "measured",
    "predicted": "predicted by a model, not measured (hatched)",
}
ERROR_MEANING = {"measured": "errors of its results", "emulated": "errors of emulated results"}
MEMORY_MEANING = {"measured": "measured peak", "predicted": "predicted from what a kernel allocates"}


def kind_of_time(case):
    return case.kind


def devices_line(cases, meaning, kind_of=kind_of_time):
    kinds = sorted({(str(case.axes["device"]), kind_of(case)) for case in cases})
    return "; ".join(f"{device}: {meaning[kind]}" for device, kind in kinds)


def marks_line(marks):
    return ", ".join(f"{mark}: {MARK_MEANINGS[mark]}" for mark in sorted(marks) if mark in MARK_MEANINGS)


def software_line(cases):
    factors = sorted({case.software for case in cases if case.software})
    if not factors:
        return ""
    return f"predicted times of what PyTorch launches are multiplied: {', '.join(factors)}"


def caption(cases, panels, meaning, *more, kind_of):
    return [devices_line(cases, meaning, kind_of), constant_text(cases, panels), *more]


def caption_of_times(cases, panels, meaning, *more):
    """Cases without a time have a mark; they do not count as measured or predicted."""
    line = devices_line([case for case in cases if case.time], meaning)
    return [line, software_line(cases), constant_text(cases, panels), *more]
