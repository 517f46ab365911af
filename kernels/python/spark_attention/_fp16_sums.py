"""Sums in FP16, which hold up to 65504. Where a pass comes to more, it is computed again with sums in
FP32, and counted. So the host waits for each such pass on a GPU. In CUDA graphs, where it cannot wait,
forward passes are only counted.
"""

import collections
import math
import warnings

import torch

from . import _library, _masks

Fp16Counts = collections.namedtuple("Fp16Counts", "rows overflowed vanished gradients")

_counted = [0, 0, 0, 0]
_of_graphs = {}  # by device: an int64 tensor there, as _counted
_empty_of_patterns = {}  # by mask, lengths and heads


def counts(*, reset=False):
    """Of forward passes that sum in FP16, since the start or since it was reset: the rows of all heads;
    those whose sums overflowed; and those whose scores were all below what FP16 holds, so that no key
    was left. And how many backward passes overflowed. All of these were computed again in FP32, but for
    those in CUDA graphs, whose results are infinite, NaN or zeros. Waits for the GPU."""
    found = [_counted.copy(), *[counter.tolist() for counter in _of_graphs.values()]]
    if reset:
        _counted[:] = [0, 0, 0, 0]
        for counter in _of_graphs.values():
            counter.zero_()
    return Fp16Counts(*map(sum, zip(*found)))


def checked_forward(found, rows, again):
    """`found` is (out, lse); `rows` tells how many rows see no key, and learns it of patterns; again()
    is found() with sums in FP32."""
    out, lse = found
    if _is_captured(out):
        _count_in_graph(out, lse, rows)
        return found
    _counted[0] += lse.numel()
    is_right = torch.isfinite(out).all() & (_unseen(lse) == rows.empty(out.device))
    if is_right.item():
        return found
    exact = again()
    rows.learn(exact[1])
    overflowed, vanished = _lost(out, lse, *exact)
    if overflowed + vanished == 0:  # of a pattern's rows without keys, or what came in was not finite
        return found
    _tell(f"scores or sums of {overflowed} rows overflowed, and all scores of {vanished} rows vanished")
    _counted[1] += overflowed
    _counted[2] += vanished
    return exact


def checked_backward(gradients, lse, scale, k, again):
    """The same of (dq, dk, dv). Scores that are all below what FP16 holds, which leaves zeros, are known
    by the forward pass's lse."""
    if _is_captured(lse):
        return gradients
    lowest = _masks.lowest_lse(scale, k.shape[-3], k.shape[-1])
    is_right = ~((lse < lowest) & (lse != -math.inf)).any()
    for gradient in gradients:
        is_right = is_right & torch.isfinite(gradient).all()
    if is_right.item():
        return gradients
    exact = again()
    if all(torch.equal(a, b) or not torch.isfinite(b).all() for a, b in zip(gradients, exact)):
        return exact  # what came in was not finite
    _tell("sums of a backward pass overflowed")
    _counted[3] += 1
    return exact


def _tell(what):
    warnings.warn(f"sums in FP16: {what}, and were computed again in FP32; accumulator='fp32' does that at "
                  "once, and sa.fp16_counts() tells how often", stacklevel=3)  # fmt: skip


def _unseen(lse):
    return torch.count_nonzero(~torch.isfinite(lse))


def _lost(out, lse, exact_out, exact_lse):
    """(overflowed, vanished): rows that FP32 has, and FP16 has not."""
    is_exact = torch.isfinite(exact_lse) & _by_row(torch.isfinite(exact_out).all(-1))
    vanished = is_exact & (lse == -math.inf)
    lost = is_exact & ~(torch.isfinite(lse) & _by_row(torch.isfinite(out).all(-1)))
    return (lost & ~vanished).sum().item(), vanished.sum().item()


def _by_row(of_out):
    """[..., rows, heads] as lse has it."""
    return of_out.transpose(-1, -2)


def _is_captured(tensor):
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _count_in_graph(out, lse, rows):
    counter = _of_graphs.get(out.device)
    if counter is None:
        raise _library.UnsupportedError("sums in FP16 run in a CUDA graph for the first time: call "
                                        "attention once before the capture")  # fmt: skip
    vanished = (lse == -math.inf).sum() - rows.empty(out.device)
    overflowed = (~_by_row(torch.isfinite(out).all(-1)) | lse.isnan() | (lse == math.inf)).sum()
    counter[0] += lse.numel()
    counter[1:3] += torch.stack([overflowed, vanished])


def prepare(device):
    """Makes the counter of a GPU's graphs."""
    if device.type == "cuda" and device not in _of_graphs:
        if not torch.cuda.is_current_stream_capturing():
            _of_graphs[device] = torch.zeros(4, dtype=torch.int64, device=device)


class Rows:
    """How many rows of a batch see no key."""

    def __init__(self, mask, batch, heads, seqlen_q, seqlen_k):
        self.key, self.batch = (mask, heads, seqlen_q, seqlen_k), batch

    def empty(self, device):
        mask, heads, seqlen_q, seqlen_k = self.key
        if _masks.is_pattern(mask):
            return self.batch * _empty_of_patterns.get(self.key, 0)
        return self.batch * heads * _masks.empty_rows(mask, seqlen_q, seqlen_k)

    def learn(self, exact_lse):
        if _masks.is_pattern(self.key[0]):
            if len(_empty_of_patterns) >= 4096:
                _empty_of_patterns.clear()
            _empty_of_patterns[self.key] = (exact_lse[0] == -math.inf).sum().item()


class PackedRows:
    """The same of packed sequences."""

    def __init__(self, mask, heads, cu_seqlens_q, cu_seqlens_k):
        self.mask, self.heads = mask, heads
        self.lengths = cu_seqlens_q, cu_seqlens_k

    def empty(self, device):
        seqlens_q, seqlens_k = (lengths.diff().long() for lengths in self.lengths)
        of_each = seqlens_q - seqlens_k - _masks.reach_of(self.mask)
        of_each = torch.minimum(of_each.clamp(min=0), seqlens_q)
        return self.heads * torch.where(seqlens_k == 0, seqlens_q, of_each).sum()

    def learn(self, exact_lse):
        pass
