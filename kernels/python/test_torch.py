"""What the tests over PyTorch share: PyTorch itself or exit status 77, inputs, and the definition."""

import math
import sys

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from spark_attention import host

torch.set_num_threads(1)  # the tensors are small, and the cores are the emulator's


def random(seed, *shape, dtype=torch.float16):
    """Normal numbers whose gradient is wanted."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).requires_grad_()


def inputs(seqlen_q=37, seqlen_k=50, heads=4, heads_k=2, head_dim=64, batch=2):
    """q, k, v and d_out."""
    queries, keys = (batch, seqlen_q, heads, head_dim), (batch, seqlen_k, heads_k, head_dim)
    return random(1, *queries), random(2, *keys), random(3, *keys), random(4, *queries).detach()


def visible(mask, seqlen_q, seqlen_k):
    """By the words of the library's header; with "+" what any of them shows."""
    if "+" in mask:
        return torch.stack([visible(part, seqlen_q, seqlen_k) for part in mask.split("+")]).any(0)
    p = torch.arange(seqlen_q)[:, None] + seqlen_k - seqlen_q
    key = torch.arange(seqlen_k)[None, :]
    name, *numbers = mask.split(":")
    if name == "nd":
        return in_windows(*([int(n) for n in of_axes.split("x")] for of_axes in numbers))
    n = [int(number) for number in numbers]
    return {
        "full": lambda: key >= 0,
        "causal": lambda: key <= p,
        "window": lambda: (key <= p) & (key > p - n[0]),
        "band": lambda: (key >= p - n[0]) & (key <= p + n[1]),
        "prefix": lambda: (key <= p) | (key < n[0]),
        "longformer": lambda: ((key - p).abs() <= n[0]) | (key < n[1]) | (p < n[1]),
        "causal-strided": lambda: (key <= p) & ((p - key) % n[0] == 0),
    }[name]().expand(seqlen_q, seqlen_k)


def in_windows(extents, windows):
    """Of each axis the keys of an odd window around a row, moved inside at the borders."""
    at = torch.cartesian_prod(*(torch.arange(extent) for extent in extents))
    seen = torch.ones(len(at), len(at), dtype=torch.bool)
    for axis, (extent, window) in enumerate(zip(extents, windows)):
        first = (at[:, None, axis] - window // 2).clamp(0, extent - window)
        seen &= (at[None, :, axis] >= first) & (at[None, :, axis] < first + window)
    return seen


def keep_of(q, k, dropout_p, seed, mask="full"):
    """Scaled, [batch, heads, seqlen_q, seqlen_k]."""
    if dropout_p == 0:
        return 1.0
    shape = q.shape[0], q.shape[2], q.shape[1], k.shape[1]
    keep, scale = host.dropout_mask(*shape, dropout_p, seed, mask=mask)
    return torch.from_numpy(keep.astype(numpy.float64) * scale)


def definition(q, k, v, mask="full", scale=None, keep=1.0):
    """In the type of its inputs, by PyTorch's own operators."""
    group = q.shape[2] // k.shape[2]
    k, v = (tensor.repeat_interleave(group, dim=2) for tensor in (k, v))
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    scores = q @ k.transpose(2, 3) * (scale or 1 / math.sqrt(q.shape[3]))
    is_visible = visible(mask, q.shape[2], k.shape[2])
    p = torch.softmax(scores.masked_fill(~is_visible, -math.inf), -1).masked_fill(~is_visible, 0)
    keep = keep.to(p.dtype) if isinstance(keep, torch.Tensor) else keep
    return ((p * keep) @ v).transpose(1, 2)


def with_gradients(function, tensors, d_out):
    """[out, *gradients] of the function of the tensors."""
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    out = function(*tensors)
    return [out.detach(), *torch.autograd.grad(out, tensors, d_out.to(out.dtype))]


def max_error(got, want):
    return (got.double() - want.double()).abs().max().item()
