"""FlashAttention-2's functions by their own signatures (flash_attn 2.8, flash_attn_interface.py). What
these kernels do not have is refused by the argument's name.

As there, dropout multiplies what it keeps by 1 / (1 - dropout_p), and a head_dim that is no multiple
of 8 is filled up with zero columns, by a copy. lse of a row that sees no key is -inf here, and +inf
there.
"""

import math

import torch

from . import _arguments, _ops
from ._attention import attend
from ._kv_cache import flash_attn_with_kvcache
from ._library import UnsupportedError
from ._options import mask_of_window, says_names
from ._s_dmask import s_dmask, s_dmask_varlen
from ._varlen import attend_varlen


def _refuse(**arguments):
    for name, (given, allowed) in arguments.items():
        if given is not allowed and given != allowed:
            raise UnsupportedError(f"{name} is {given!r}; supported: {allowed!r}")


def _refuse_given(**arguments):
    for name, given in arguments.items():
        if given is not None:
            raise UnsupportedError(f"{name} is given; supported: None")


def _unpacked(name, packed, count, axes):
    _ops.require_tensors(**{name: packed})
    if packed.dim() != len(axes.split()) or packed.shape[-3] != count:
        raise ValueError(f"{name} has shape {tuple(packed.shape)}; allowed: [{axes}]")
    return packed.unbind(-3)


def _padded(*tensors):
    _ops.require_tensors(**dict(zip("qkv", tensors)))
    missing = -tensors[0].shape[-1] % 8
    if not missing:
        return tensors
    return tuple(torch.nn.functional.pad(tensor, (0, missing)) for tensor in tensors)


def _scale(softmax_scale, q):
    _ops.require_tensors(q=q)
    return 1 / math.sqrt(q.shape[-1]) if softmax_scale is None else softmax_scale


@says_names
def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                    softcap=0.0, alibi_slopes=None, deterministic=False,
                    return_attn_probs=False):  # fmt: skip
    """q is [batch, seqlen_q, heads, head_dim], k and v [batch, seqlen_k, heads_k, head_dim].

    return_attn_probs gives (out, lse, S_dmask), for tests: see s_dmask(). Without dropout S_dmask is
    empty. This holds for all functions of this module."""
    _refuse_given(alibi_slopes=alibi_slopes)
    _refuse(softcap=(softcap, 0.0))
    scale, head_dim = _scale(softmax_scale, q), q.shape[-1]
    q, k, v = _padded(q, k, v)
    if q.dim() == 4 and q.shape[2] > _arguments.MOST_HEADS and not torch.compiler.is_compiling():
        _arguments.warn_of_layout(q.shape, k.shape, stacklevel=4)
    out, lse, seed = attend(q, k, v, False, mask_of_window(causal, window_size), dropout_p, "asked",
                            scale, "fp32", deterministic or None)  # fmt: skip
    out = out[..., :head_dim]
    if not return_attn_probs:
        return out
    return out, lse, s_dmask(q, k, seed, dropout_p, scale, causal, window_size)


@says_names
def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False,
                             window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                             deterministic=False, return_attn_probs=False):  # fmt: skip
    """kv is [batch, seqlen_k, 2, heads_k, head_dim], and read in place."""
    k, v = _unpacked("kv", kv, 2, "batch, seqlen_k, 2, heads_k, head_dim")
    return flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                           alibi_slopes, deterministic, return_attn_probs)  # fmt: skip


@says_names
def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False,
                              window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                              deterministic=False, return_attn_probs=False):  # fmt: skip
    """qkv is [batch, seqlen, 3, heads, head_dim], and read in place."""
    q, k, v = _unpacked("qkv", qkv, 3, "batch, seqlen, 3, heads, head_dim")
    return flash_attn_func(q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                           alibi_slopes, deterministic, return_attn_probs)  # fmt: skip


@says_names
def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                           dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                           softcap=0.0, alibi_slopes=None, deterministic=False,
                           return_attn_probs=False, block_table=None):  # fmt: skip
    """q is [total_q, heads, head_dim], k and v [total_k, heads_k, head_dim]; sequence i has rows
    cu_seqlens_q[i] to below cu_seqlens_q[i + 1], and such keys. The longest lengths are wanted by
    return_attn_probs alone: the GPU finds them."""
    _refuse_given(alibi_slopes=alibi_slopes, block_table=block_table)
    _refuse(softcap=(softcap, 0.0))
    scale, head_dim = _scale(softmax_scale, q), q.shape[-1]
    q, k, v = _padded(q, k, v)
    out, lse, seed = attend_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k,
                                   False, mask_of_window(causal, window_size), dropout_p, "asked",
                                   scale, "fp32", deterministic or None)  # fmt: skip
    out = out[..., :head_dim]
    if not return_attn_probs:
        return out
    return out, lse, s_dmask_varlen(q, k, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                    seed, dropout_p, scale, causal, window_size)  # fmt: skip


@says_names
def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                    dropout_p=0.0, softmax_scale=None, causal=False,
                                    window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                                    deterministic=False, return_attn_probs=False):  # fmt: skip
    """kv is [total_k, 2, heads_k, head_dim], and read in place."""
    k, v = _unpacked("kv", kv, 2, "total_k, 2, heads_k, head_dim")
    return flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                                  max_seqlen_k, dropout_p, softmax_scale, causal, window_size,
                                  softcap, alibi_slopes, deterministic,
                                  return_attn_probs)  # fmt: skip


@says_names
def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0, softmax_scale=None,
                                     causal=False, window_size=(-1, -1), softcap=0.0,
                                     alibi_slopes=None, deterministic=False,
                                     return_attn_probs=False):  # fmt: skip
    """qkv is [total, 3, heads, head_dim], and read in place."""
    q, k, v = _unpacked("qkv", qkv, 3, "total, 3, heads, head_dim")
    return flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens,
                                  max_seqlen, max_seqlen, dropout_p, softmax_scale, causal,
                                  window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)  # fmt: skip
