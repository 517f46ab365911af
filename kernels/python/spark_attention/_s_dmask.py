"""S_dmask, which FlashAttention-2 returns for tests, computed by PyTorch from the mask of the kernels."""

import math

import torch

from . import _ops
from ._options import window_of


def block_size_n(head_dim, is_dropout):
    """Keys of a step of FlashAttention-2's forward kernel, by its _get_block_size_n on sm_80 and
    sm_90, which its tests read S_dmask with."""
    if head_dim <= 32:
        return 128
    if head_dim <= 64:
        return 64 if is_dropout else 128
    return 32 if is_dropout and 96 < head_dim <= 128 else 64


def s_dmask(q, k, seed, dropout_p, scale, causal, window_size):
    """What FlashAttention-2 returns for tests, [batch, heads, seqlen_q, seqlen_k], both lengths
    rounded up to 128: negative where dropout drops, and exp(scale * S - m) by size, where m is the
    row's maximum over the key's block and those after it. PyTorch computes it here, from the mask of
    the kernels."""
    if seed is None:
        return q.new_empty(0)
    keep = _ops.dropout_keep(q, k, seed, dropout_p)
    return _signed(q, k, keep, scale, causal, window_size, *keep.shape[2:])


def s_dmask_varlen(q, k, cu_seqlens_q, cu_seqlens_k, longest_q, longest_k, seed, dropout_p, scale,
                   causal, window_size):  # fmt: skip
    """The same of packed sequences, [sequences, heads, longest_q, longest_k], with zeros behind each
    one's rows and keys."""
    if seed is None:
        return q.new_empty(0)
    begins_q, begins_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    shape = (len(begins_q) - 1, longest_q, q.shape[1], q.shape[2])
    keep = _ops.dropout_keep(q.new_empty(shape), k.new_empty((1, longest_k, 1, 1)), seed, dropout_p)
    each = []
    for i in range(shape[0]):
        own_q = q[None, begins_q[i] : begins_q[i + 1]]
        own_k = k[None, begins_k[i] : begins_k[i + 1]]
        own_keep = keep[i : i + 1, :, : own_q.shape[1], : own_k.shape[1]]
        each.append(_signed(own_q, own_k, own_keep, scale, causal, window_size, longest_q, longest_k))
    return torch.cat(each)


def _signed(q, k, keep, scale, causal, window_size, longest_q, longest_k):
    with torch.no_grad():
        seqlen_q, seqlen_k = keep.shape[2:]
        to_q, to_k = longest_q + -longest_q % 128, longest_k + -longest_k % 128
        if keep.numel() == 0:
            return q.new_zeros(*keep.shape[:2], to_q, to_k)
        keys = k.float().repeat_interleave(q.shape[2] // k.shape[2], 2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q.float() * scale, keys)
        row = torch.arange(seqlen_q, device=q.device)[:, None] + seqlen_k - seqlen_q
        offset = torch.arange(seqlen_k, device=q.device)[None, :] - row
        before, after = window_of(window_size)
        if causal:
            after = 0
        is_hidden = (offset < -before) & (before >= 0) | (offset > after) & (after >= 0)
        scores = scores.masked_fill(is_hidden, -math.inf)
        blocks = scores.split(block_size_n(q.shape[-1], True), -1)
        maxima = torch.stack([block.amax(-1) for block in blocks], -1)
        maxima = maxima.flip(-1).cummax(-1).values.flip(-1).clamp(min=-1e30).unbind(-1)
        p = torch.cat([(s - m[..., None]).exp() for s, m in zip(blocks, maxima)], -1)
        p = torch.where(keep, p, -p).to(q.dtype)
        return torch.nn.functional.pad(p, (0, to_k - seqlen_k, 0, to_q - seqlen_q))
