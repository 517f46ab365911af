"""Series whose values lie upon each other: they are found, and their markers stand side by side."""

import math

ASIDE = 1.1  # of a marker's size, from one marker to the next


def coincide(one, other, tolerance):
    """Whether two rows of values differ by at most `tolerance` of the larger, wherever both have one."""
    both = [(a, b) for a, b in zip(one, other) if not (math.isnan(a) or math.isnan(b))]
    return bool(both) and all(abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in both)


def groups_of(rows, tolerance):
    """The series of {series: values} by which of them coincide."""
    groups = []
    for series, values in rows.items():
        group = next((each for each in groups if coincide(rows[each[0]], values, tolerance)), None)
        if group is None:
            groups.append([series])
        else:
            group.append(series)
    return groups


def side_by_side(axes, nth, count):
    """The transform of the nth of `count` markers that coincide."""
    from matplotlib import rcParams, transforms

    sizes = ASIDE * (nth - (count - 1) / 2)
    inches = sizes * rcParams["lines.markersize"] / 72
    return axes.transData + transforms.ScaledTranslation(inches, 0, axes.figure.dpi_scale_trans)
