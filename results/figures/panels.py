"""Assigns cases to panels and to series. Nothing is averaged: if two cases of one kernel and length
differ in an axis, that axis gets its own panels."""

import collections

from figures.cases import AXES
from figures.meant import did_you_mean

# Axes that may follow the length: --batch auto keeps the tokens, seqlen_k is usually seqlen.
FOLLOWING = ("seqlen_k", "batch", "heads", "heads_k", "lengths")
ON_X = ("seqlen", "model")
KERNEL_ORDER = ("cublas", "unfused", "torch-unfused", "torch-math")


def length_of(case):
    """The value on the horizontal axis: the sequence length, the lengths of a ragged batch, or the
    model."""
    return case.axes["model"] or case.axes["lengths"] or case.axes["seqlen"]


def length_order(length):
    return (isinstance(length, str), length)


def values_of(cases, axis):
    return {case.axes[axis] for case in cases}


def panel_axes(cases):
    """The axes with a panel per value: those with several values, except those that follow the
    length."""
    varying = [axis for axis in AXES if axis not in ON_X and len(values_of(cases, axis)) > 1]
    # A model's name determines its shape, and even its pass.
    may_follow = AXES if any(case.axes["model"] for case in cases) else FOLLOWING
    own = [axis for axis in varying if axis not in may_follow]
    for axis in (axis for axis in varying if axis in may_follow):
        at = collections.defaultdict(set)
        for case in cases:
            at[(length_of(case), *(case.axes[name] for name in own))].add(case.axes[axis])
        if any(len(values) > 1 for values in at.values()):
            own.append(axis)
    return own


def panel_order(value):
    return tuple((each is None, str(type(each)), each if each is not None else 0) for each in value)


class Panels:
    """{panel: {series: {length: case}}}. A series is a kernel, or a kernel and a run if runs share
    cases."""

    def __init__(self, cases):
        self.axes = panel_axes(cases)
        self._needs_runs = self._shares_cases(cases)
        self.of = collections.defaultdict(lambda: collections.defaultdict(dict))
        for case in cases:
            self._add(case)
        self.keys = sorted(self.of, key=panel_order)
        self.lengths = sorted({length_of(case) for case in cases}, key=length_order)
        self.x_label = "model" if cases[0].axes["model"] else "sequence length"
        self.series = sorted({self.series_of(case) for case in cases}, key=series_order)

    @staticmethod
    def _shares_cases(cases):
        runs = collections.defaultdict(set)
        for case in cases:
            runs[(case.kernel, case.problem())].add(case.run)
        return any(len(each) > 1 for each in runs.values())

    def _add(self, case):
        key = tuple(case.axes[axis] for axis in self.axes)
        at = self.of[key][self.series_of(case)]
        length = length_of(case)
        if length in at:
            raise ValueError(
                f"RUN {case.run}: two cases of {case.kernel} are one point, {at[length].id} and "
                f"{case.id}; choose by --where"
            )
        at[length] = case

    def series_of(self, case):
        return (case.kernel, case.run if self._needs_runs else "")

    def title(self, key):
        return ", ".join(text_of(axis, value) for axis, value in zip(self.axes, key))

    def lengths_in(self, key):
        found = {length for at in self.of[key].values() for length in at}
        return [length for length in self.lengths if length in found]


def series_order(series):
    """The unfused computations come first, because the others are compared with them."""
    kernel, run = series
    first = next((i for i, each in enumerate(KERNEL_ORDER) if kernel.startswith(each)), 99)
    return (first, kernel, run)


def series_label(series):
    kernel, run = series
    return f"{kernel}, {run}" if run else kernel


def text_of(axis, value):
    if axis in ("pass", "mask", "device"):
        return str(value)
    if axis == "dropout_scale":
        return f"scale {value}"
    if isinstance(value, float):
        value = f"{value:g}"
    return f"{axis} {value}"


def short_length(length):
    """"2k" for 2048."""
    if isinstance(length, str) or length % 1024 != 0:
        return str(length)
    return f"{length // 1024}k"


def constant_text(cases, panels):
    """The values that all cases share, for the figure's last line."""
    shared = []
    for axis in AXES:
        values = values_of(cases, axis)
        if axis in panels.axes or axis in (*ON_X, "lengths", "device") or len(values) != 1:
            continue
        (value,) = values
        usual = (("dropout_scale", "applied"), ("dtype", "fp16"), ("layout", "bshd"),
                 ("input_scale", 1.0))  # fmt: skip
        is_usual = (axis, value) in usual
        if value is not None and not is_usual and axis not in ("seqlen_k", "heads_k"):
            shared.append(text_of(axis, value).replace(" ", "\u00a0"))  # no line break inside it
    return ", ".join(shared)


def where(cases, conditions):
    """The cases that satisfy every condition axis=value; commas separate several values. Throws
    ValueError."""
    for condition in conditions:
        axis, equals, values = condition.partition("=")
        if not equals or axis not in AXES:
            hint = did_you_mean(axis, AXES)
            raise ValueError(
                f"--where '{condition}'{hint or ':'} allowed: AXIS=VALUE, of {', '.join(AXES)}"
            )
        wanted = set(values.split(","))
        known = {text_value(value) for value in values_of(cases, axis)}
        if missing := sorted(wanted - known):
            hint = did_you_mean(missing[0], known)
            raise ValueError(
                f"--where {axis}: no case has {', '.join(missing)}{hint}; the runs have "
                f"{', '.join(sorted(known))}"
            )
        cases = [case for case in cases if text_value(case.axes[axis]) in wanted]
    return cases


def text_value(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def of_kernels(cases, kernels):
    """The cases of these kernels. Throws ValueError if a kernel has none."""
    known = sorted({case.kernel for case in cases})
    for kernel in kernels:
        if kernel not in known:
            raise ValueError(
                f"--kernel: no case of '{kernel}'{did_you_mean(kernel, known)}; the runs have "
                f"{', '.join(known)}"
            )
    return [case for case in cases if case.kernel in kernels] if kernels else cases
