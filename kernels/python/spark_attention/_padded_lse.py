"""The log-sum-exp as PyTorch's memory-efficient kernel has it, with rows in full blocks of 32, and back.
Nothing waits for the GPU."""

import math

import torch

ROWS = 32


def padded(lse):
    missing = -lse.shape[-1] % ROWS
    return torch.nn.functional.pad(lse, (0, missing), value=math.inf) if missing else lse


def by_sequence(lse, cu_seqlens, longest):
    """[sequences, heads, longest rounded up to 32] of [heads, total]."""
    rows = torch.arange(longest + -longest % ROWS, device=lse.device)
    begins, ends = cu_seqlens[:-1, None], cu_seqlens[1:, None]
    at = begins + rows
    found = lse[:, at.clamp(max=lse.shape[1] - 1)].transpose(0, 1)
    return found.masked_fill((at >= ends).unsqueeze(1), math.inf).contiguous()


def by_row(lse, cu_seqlens, total):
    """[heads, total] of what by_sequence() made."""
    rows = torch.arange(total, device=lse.device, dtype=cu_seqlens.dtype)
    sequences = torch.searchsorted(cu_seqlens[1:], rows, right=True).clamp(max=lse.shape[0] - 1)
    return lse[sequences, :, (rows - cu_seqlens[sequences]).long()].T.contiguous()
