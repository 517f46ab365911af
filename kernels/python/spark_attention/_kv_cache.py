"""flash_attn_with_kvcache(): FlashAttention-2's attention of a decoder that keeps its keys and values."""

import collections
import math

import torch

from . import _arguments, _ops
from ._attention import attend
from ._library import UnsupportedError
from ._options import mask_of_window, says_names, window_of
from ._varlen import attend_varlen
from .rotary import apply_rotary_emb


@says_names
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
    number; it looks at the numbers then, and refuses what lies outside of the caches with ValueError."""
    for name, given in (("block_table", block_table), ("alibi_slopes", alibi_slopes)):
        if given is not None:
            raise UnsupportedError(f"{name} is given; supported: None")
    if softcap != 0:
        raise UnsupportedError(f"softcap is {softcap!r}; supported: 0.0")
    with torch.no_grad():
        _check_tensors(q, k_cache, v_cache, k, v, cache_seqlens)
        places = _places(q, k_cache, k, cache_seqlens, cache_leftpad, cache_batch_idx)
        if rotary_cos is not None:
            # Without a mask that counts rows, all of q stands where the new keys begin.
            moves = causal or window_of(window_size) != [-1, -1]
            q, k = _rotated(q, k, k_cache, rotary_cos, rotary_sin, places.lengths, rotary_interleaved,
                            moves)  # fmt: skip
        if k is not None:
            places = _written(places, k_cache, v_cache, k, v)
        head_dim, missing = q.shape[-1], -q.shape[-1] % 8
        scale = 1 / math.sqrt(head_dim) if softmax_scale is None else softmax_scale
        options = (False, mask_of_window(causal, window_size), 0.0, "applied", scale, "fp32", None)
        if cache_seqlens is None and cache_leftpad is None and cache_batch_idx is None:
            q, keys, values = _filled((q, k_cache, v_cache), missing)
            out, lse, _ = attend(q, keys, values, *options)
        else:
            out, lse = _attend_packed(q, k_cache, v_cache, places, missing, options)
        out = out[..., :head_dim]
        return (out, lse) if return_softmax_lse else out


# For each sample: how many keys it has, how many of them are skipped (left padding), and its cache row.
_Places = collections.namedtuple("_Places", "lengths begins rows")


def _places(q, k_cache, k, cache_seqlens, cache_leftpad, cache_batch_idx):
    """Checked where the host has to wait anyway: before anything is read or written beside the caches."""
    batch, new = q.shape[0], 0 if k is None else k.shape[1]
    lengths = _numbers("cache_seqlens", cache_seqlens, k_cache.shape[1], batch, q.device)
    begins = _numbers("cache_leftpad", cache_leftpad, 0, batch, q.device)
    if cache_batch_idx is not None:
        rows = _numbers("cache_batch_idx", cache_batch_idx, 0, batch, q.device)
    elif k_cache.shape[0] == batch:
        rows = torch.arange(batch, device=q.device)
    else:
        raise ValueError(f"k_cache has {k_cache.shape[0]} samples, and q {batch}: they are equal without "
                         "cache_batch_idx")  # fmt: skip
    places = _Places(lengths, begins, rows)
    if not (cache_seqlens is None and cache_leftpad is None and cache_batch_idx is None):
        _check_numbers(places, k_cache, new)
    return places


def _written(places, k_cache, v_cache, k, v):
    """Writes the new keys and values, and tells the places with them."""
    at = places.lengths[:, None] + torch.arange(k.shape[1], device=k.device)
    k_cache[places.rows[:, None], at] = k
    v_cache[places.rows[:, None], at] = v
    return places._replace(lengths=places.lengths + k.shape[1])


def _attend_packed(q, k_cache, v_cache, places, missing, options):
    lengths, begins, rows = places
    batch, seqlen_q = q.shape[:2]
    place = torch.arange(k_cache.shape[1], device=q.device)
    is_read = (place >= begins[:, None]) & (place < lengths[:, None])
    packed = [cache[rows][is_read] for cache in (k_cache, v_cache)]
    q, keys, values = _filled((q, *packed), missing)
    cu_seqlens_k = torch.nn.functional.pad((lengths - begins).cumsum(0), (1, 0)).int()
    cu_seqlens_q = (torch.arange(batch + 1, device=q.device) * seqlen_q).int()
    out, lse, _ = attend_varlen(q.flatten(0, 1), keys, values, cu_seqlens_q, cu_seqlens_k, *options)
    return out.unflatten(0, (batch, seqlen_q)), lse.unflatten(1, (batch, seqlen_q)).transpose(0, 1)


def _check_tensors(q, k_cache, v_cache, k, v, cache_seqlens):
    _ops.require_tensors(q=q, k_cache=k_cache, v_cache=v_cache)
    for name, tensor in (("q", q), ("k_cache", k_cache)):
        if tensor.dim() != 4:
            raise ValueError(f"{name} has {tensor.dim()} dimensions; allowed: 4")
    _arguments.check_like("v_cache", v_cache, k_cache.shape, k_cache.dtype, k_cache.device)
    if (k is None) != (v is None):
        raise ValueError("one of k and v is given; allowed: both, or neither")
    if k is None:
        return
    if cache_seqlens is None:
        raise ValueError("k is given, and cache_seqlens is None: the caches are full; allowed: how many "
                         "keys each sample has before the new ones")  # fmt: skip
    _ops.require_tensors(k=k, v=v)
    shape = (q.shape[0], *k.shape[1:2], *k_cache.shape[2:])
    for name, tensor in (("k", k), ("v", v)):
        _arguments.check_like(name, tensor, shape, k_cache.dtype, k_cache.device)


def _numbers(name, given, default, batch, device):
    """int64, one of each sample."""
    given = default if given is None else given
    if isinstance(given, int):
        return torch.full((batch,), given, dtype=torch.int64, device=device)
    _ops.require_tensors(**{name: given})
    if given.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} is {given.dtype}; allowed: int32, int64")
    if tuple(given.shape) != (batch,) or given.device != device:
        raise ValueError(f"{name} has shape {tuple(given.shape)} on {given.device}; allowed: ({batch},) "
                         f"on {device}")  # fmt: skip
    return given.long()


def _check_numbers(places, k_cache, new):
    """One wait for the GPU."""
    samples, most = k_cache.shape[0], k_cache.shape[1] - new
    of_new = f", less the {new} new ones" if new else ""
    for i, (length, begin, row) in enumerate(torch.stack(places, 1).tolist()):
        for name, number, largest, what in (
            ("cache_seqlens", length, most, f"what the cache holds{of_new}"),
            ("cache_leftpad", begin, length + new, "the keys that there are"),
            ("cache_batch_idx", row, samples - 1, "the cache's samples"),
        ):
            if not 0 <= number <= largest:
                raise ValueError(f"{name}[{i}] is {number}; allowed: 0 to {largest}, {what}")


def _rotated(q, k, k_cache, cos, sin, begins, interleaved, moves):
    if len(cos) < k_cache.shape[1]:
        raise ValueError(f"rotary_cos has {len(cos)} rows; allowed: at least those of the cache, "
                         f"{k_cache.shape[1]}")  # fmt: skip
    if k is not None:
        k = apply_rotary_emb(k, cos, sin, interleaved, seqlen_offsets=begins)
    if moves:
        return apply_rotary_emb(q, cos, sin, interleaved, seqlen_offsets=begins), k
    batch, seqlen_q = q.shape[:2]  # as if all rows were heads of one
    flat = q.reshape(batch, 1, seqlen_q * q.shape[2], q.shape[3])
    turned = apply_rotary_emb(flat, cos, sin, interleaved, seqlen_offsets=begins)
    return turned.reshape(q.shape), k


def _filled(tensors, missing):
    if not missing:
        return tensors
    return tuple(torch.nn.functional.pad(tensor, (0, missing)) for tensor in tensors)
