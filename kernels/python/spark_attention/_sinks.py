"""Learned sinks: one more key for each head, with a learned score and the value zero, as in gpt-oss.
The kernels know nothing of them: their outputs are rescaled here, and the O and LSE that they get for
the backward pass include the sinks.

    lse' = log(exp(lse) + exp(sink))        out' = out exp(lse - lse')
    d_sink = -sum over rows of exp(sink - lse') rowsum(d_out * out')

Tensors are out [..., rows, heads, head_dim] and lse [..., heads, rows], for batches and for
varlen alike.
"""

import torch

from . import _arguments, _transforms

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def check(sinks, q):
    """Raises what names the argument, what it was and what is allowed. None is allowed."""
    if sinks is None:
        return
    if not isinstance(sinks, torch.Tensor):
        raise TypeError(f"sinks is a {type(sinks).__name__}; allowed: a tensor of [heads], or None")
    if sinks.dtype not in DTYPES:
        raise TypeError(f"sinks is {_name(sinks.dtype)}; allowed: {', '.join(map(_name, DTYPES))}")
    if sinks.shape != q.shape[-2:-1]:
        raise ValueError(f"sinks has shape {tuple(sinks.shape)}; allowed: {tuple(q.shape[-2:-1])}, one "
                         "of each head of q")  # fmt: skip
    if sinks.device != q.device:
        raise ValueError(f"sinks is on {sinks.device}, and q on {q.device}")


def check_gradient(d_out, out, lse, sinks):
    if out.dim() < 3 or out.dtype != torch.float16:
        raise ValueError(f"out is {_name(out.dtype)} of shape {tuple(out.shape)}; allowed: float16 of "
                         "[..., rows, heads, head_dim]")  # fmt: skip
    check(sinks, out)
    _arguments.check_like("d_out", d_out, out.shape, out.dtype, out.device)
    of_lse = (*out.shape[:-3], out.shape[-2], out.shape[-3])
    _arguments.check_like("lse", lse, of_lse, torch.float32, out.device)


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def applied(out, lse, sinks):
    """(out', lse'), below autograd; out becomes the former. A sink of -inf changes no bit, and a row
    that sees no key has zeros and the sink alone."""
    if sinks is None:
        return out, lse
    with_sinks = torch.logaddexp(lse, sinks.float()[:, None])
    kept = torch.exp(lse - with_sinks).masked_fill_(lse == with_sinks, 1)  # -inf less itself is NaN
    return out.mul_(kept.transpose(-1, -2)[..., None]), with_sinks


def gradient(d_out, out, lse, sinks):
    """d_sinks, of what applied() gave."""
    _transforms.refuse_tangents(d_out, out, lse, sinks)
    check_gradient(d_out, out, lse, sinks)
    delta = d_out.float().mul_(out).sum(-1)  # [..., rows, heads]; fp16 might not hold the products
    weight = torch.exp(sinks.float() - lse.transpose(-1, -2)).masked_fill_(sinks == -torch.inf, 0)
    return weight.mul_(delta).flatten(0, -2).sum(0).neg_().to(sinks.dtype)
