"""What peers share."""

import functools
from importlib import metadata


def version_of(distribution, *more):
    """A function that says "flash-attn 2.8.4, torch 2.11.0": of a kernel's `version`."""

    def version():
        known = []
        for name in (distribution, *more):
            try:
                known.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                known.append(f"{name} of unknown version")
        return ", ".join(known)

    return version


def repeated_keys(q, k, v, dim):
    """With the heads of k and v repeated, for kernels that share no keys: the copies are timed."""
    group = q.shape[dim] // k.shape[dim]
    if group == 1:
        return q, k, v
    return q, k.repeat_interleave(group, dim), v.repeat_interleave(group, dim)


def heads_first(function):
    """Of a function over [batch, heads, seqlen, head_dim], the one over [batch, seqlen, heads,
    head_dim]: views, no copies."""

    @functools.wraps(function)
    def over_rows(q, k, v, **options):
        return function(*(x.transpose(1, 2) for x in (q, k, v)), **options).transpose(1, 2)

    return over_rows


def is_top_left(problem):
    """Whether a causal mask aligned to the top left is the problem's, too."""
    return problem.mask_kind == "full" or all(q == k for q, k in problem.lengths)
