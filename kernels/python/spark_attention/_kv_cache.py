"""flash_attn_with_kvcache(): FlashAttention-2's attention of a decoder that keeps its keys and values."""

import math

import torch

from ._attention import attend
from ._library import UnsupportedError
from ._options import mask_of_window
from ._varlen import attend_varlen
from .rotary import apply_rotary_emb


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None,
                            cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None,
                            block_table=None, softmax_scale=None, causal=False, window_size=(-1, -1),
                            softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0,
                            return_softmax_lse=False):  # fmt: skip
    """q is [batch, seqlen_q, heads, head_dim], the caches [cache batch, length, heads_k, head_dim],
    of which sample i has the first cache_seqlens[i] keys (all, unless given), but for the first
    cache_leftpad[i]. New k and v, [batch, seqlen_new, heads_k, head_dim], are written behind them
    into the caches first, rotated as q is by their places in the cache. num_splits is a hint to
    other kernels. lse is [batch, heads, seqlen_q].

    Keys that are not one run of the cache for all samples are copied, and the host waits for their
    number."""
    for name, given in (("block_table", block_table), ("alibi_slopes", alibi_slopes)):
        if given is not None:
            raise UnsupportedError(f"{name} is given; supported: None")
    if softcap != 0:
        raise UnsupportedError(f"softcap is {softcap!r}; supported: 0.0")
    with torch.no_grad():
        batch, seqlen_q = q.shape[:2]
        samples = torch.arange(batch, device=q.device)
        rows = samples if cache_batch_idx is None else cache_batch_idx.long()
        lengths = _lengths(cache_seqlens, k_cache, batch, q.device)
        begins = torch.zeros_like(lengths) if cache_leftpad is None else cache_leftpad.long()
        if rotary_cos is not None:
            # Without a mask that counts rows, all of q stands where the new keys begin.
            q = _rotated(q, rotary_cos, rotary_sin, lengths, rotary_interleaved,
                         causal or tuple(map(int, window_size)) != (-1, -1))  # fmt: skip
            if k is not None:
                k = apply_rotary_emb(k, rotary_cos, rotary_sin, rotary_interleaved,
                                     seqlen_offsets=lengths)  # fmt: skip
        if k is not None:
            places = lengths[:, None] + torch.arange(k.shape[1], device=q.device)
            k_cache[rows[:, None], places] = k.to(k_cache.dtype)
            v_cache[rows[:, None], places] = v.to(v_cache.dtype)
            lengths = lengths + k.shape[1]
        head_dim, missing = q.shape[-1], -q.shape[-1] % 8
        scale = 1 / math.sqrt(head_dim) if softmax_scale is None else softmax_scale
        options = (False, mask_of_window(causal, window_size), 0.0, "applied", scale, "fp32", None)
        if cache_seqlens is None and k is None and cache_leftpad is None and cache_batch_idx is None:
            q, keys, values = _filled((q, k_cache, v_cache), missing)
            out, lse, _ = attend(q, keys, values, *options)
        else:
            place = torch.arange(k_cache.shape[1], device=q.device)
            is_read = (place >= begins[:, None]) & (place < lengths[:, None])
            packed = [cache[rows][is_read] for cache in (k_cache, v_cache)]
            q, keys, values = _filled((q, *packed), missing)
            cu_seqlens_k = torch.nn.functional.pad((lengths - begins).cumsum(0), (1, 0)).int()
            cu_seqlens_q = (torch.arange(batch + 1, device=q.device) * seqlen_q).int()
            out, lse, _ = attend_varlen(q.flatten(0, 1), keys, values, cu_seqlens_q, cu_seqlens_k,
                                        *options)  # fmt: skip
            out = out.unflatten(0, (batch, seqlen_q))
            lse = lse.unflatten(1, (batch, seqlen_q)).transpose(0, 1)
        out = out[..., :head_dim]
        return (out, lse) if return_softmax_lse else out


def _lengths(cache_seqlens, k_cache, batch, device):
    if cache_seqlens is None:
        return torch.full((batch,), k_cache.shape[1], dtype=torch.int64, device=device)
    if isinstance(cache_seqlens, int):
        return torch.full((batch,), cache_seqlens, dtype=torch.int64, device=device)
    return cache_seqlens.long()


def _rotated(q, cos, sin, begins, interleaved, moves):
    if moves:
        return apply_rotary_emb(q, cos, sin, interleaved, seqlen_offsets=begins)
    batch, seqlen_q = q.shape[:2]  # as if all rows were heads of one
    flat = q.reshape(batch, 1, seqlen_q * q.shape[2], q.shape[3])
    return apply_rotary_emb(flat, cos, sin, interleaved, seqlen_offsets=begins).reshape(q.shape)


def _filled(tensors, missing):
    if not missing:
        return tensors
    return tuple(torch.nn.functional.pad(tensor, (0, missing)) for tensor in tensors)
