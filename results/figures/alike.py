"""Series whose values coincide: finds them and draws their markers side by side."""

import math

ASIDE = 1.1  # distance between markers, in marker sizes


def coincide(one, other, tolerance):
    """Whether two rows of values differ by at most `tolerance` of the larger, wherever both have a
    value."""
    both = [(a, b) for a, b in zip(one, other) if not (math.isnan(a) or math.isnan(b))]
    return bool(both) and all(abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in both)


def groups_of(rows, tolerance):
    """Groups the series of {series: values} that coincide."""
    groups = []
    for series, values in rows.items():
        group = next((each for each in groups if coincide(rows[each[0]], values, tolerance)), None)
        if group is None:
            groups.append([series])
        else:
            group.append(series)
    return groups


def side_by_side(axes, nth, count):
    """The offset transform for the nth of `count` markers that coincide."""
    from matplotlib import rcParams, transforms

    sizes = ASIDE * (nth - (count - 1) / 2)
    inches = sizes * rcParams["lines.markersize"] / 72
    return axes.transData + transforms.ScaledTranslation(inches, 0, axes.figure.dpi_scale_trans)
