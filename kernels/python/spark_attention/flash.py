"""FlashAttention-2's functions of equal lengths, by their own signatures (flash_attn 2.8,
flash_attn_interface.py). What these kernels do not have is refused by the argument's name.

As there, dropout multiplies what it keeps by 1 / (1 - dropout_p), and a head_dim that is no multiple
of 8 is filled up with zero columns, by a copy. lse of a row that sees no key is -inf here, and +inf
there.
"""

import math

import torch

from . import _ops
from ._library import UnsupportedError
from ._attention import attend

_EVERYTHING = 1 << 29  # further than any key is from any row


def mask_of_window(causal, window_size):
    """The mask of FlashAttention-2's causal and window_size, (keys before, keys after), where -1 is
    all of them and causal allows none after."""
    before, after = map(int, window_size)
    if causal:
        after = 0
    if before < 0 and after < 0:
        return "full"
    if after == 0:
        return "causal" if before < 0 else f"window:{before + 1}"
    return f"band:{before if before >= 0 else _EVERYTHING}:{after if after >= 0 else _EVERYTHING}"


def _refuse(**arguments):
    for name, (given, allowed) in arguments.items():
        if given is not allowed and given != allowed:
            raise UnsupportedError(f"{name} is {given!r}; supported: {allowed!r}")


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                    softcap=0.0, alibi_slopes=None, deterministic=False,
                    return_attn_probs=False):  # fmt: skip
    """q is [batch, seqlen_q, heads, head_dim], k and v [batch, seqlen_k, heads_k, head_dim].

    return_attn_probs gives (out, lse, S_dmask), for tests: see s_dmask(). Without dropout it is
    empty."""
    if alibi_slopes is not None:
        raise UnsupportedError("alibi_slopes are given; supported: None")
    _refuse(softcap=(softcap, 0.0))
    head_dim = q.shape[-1]
    scale = softmax_scale if softmax_scale is not None else 1 / math.sqrt(head_dim)
    q, k, v = (_padded(tensor) for tensor in (q, k, v))
    mask = mask_of_window(causal, window_size)
    out, lse, seed = attend(q, k, v, mask, dropout_p, "asked", scale, "fp32",
                            deterministic or None)  # fmt: skip
    out = out[..., :head_dim]
    if not return_attn_probs:
        return out
    return out, lse, s_dmask(q, k, seed, dropout_p, scale, causal, window_size)


def _padded(tensor):
    missing = -tensor.shape[-1] % 8
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor


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
    with torch.no_grad():
        keep = _ops.dropout_keep(q, k, seed, dropout_p)
        seqlen_q, seqlen_k = keep.shape[2:]
        keys = k.float().repeat_interleave(q.shape[2] // k.shape[2], 2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q.float() * scale, keys)
        row = torch.arange(seqlen_q, device=q.device)[:, None] + seqlen_k - seqlen_q
        offset = torch.arange(seqlen_k, device=q.device)[None, :] - row
        before, after = map(int, window_size)
        if causal:
            after = 0
        is_hidden = (offset < -before) & (before >= 0) | (offset > after) & (after >= 0)
        scores = scores.masked_fill(is_hidden, -math.inf)
        blocks = scores.split(block_size_n(q.shape[-1], True), -1)
        maxima = torch.stack([block.amax(-1) for block in blocks], -1)
        maxima = maxima.flip(-1).cummax(-1).values.flip(-1).clamp(min=-1e30).unbind(-1)
        p = torch.cat([(s - m[..., None]).exp() for s, m in zip(blocks, maxima)], -1)
        p = torch.where(keep, p, -p).to(q.dtype)
        return torch.nn.functional.pad(p, (0, -seqlen_k % 128, 0, -seqlen_q % 128))


def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False,
                             window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                             deterministic=False, return_attn_probs=False):  # fmt: skip
    """kv is [batch, seqlen_k, 2, heads_k, head_dim], and read in place."""
    return flash_attn_func(q, kv[:, :, 0], kv[:, :, 1], dropout_p, softmax_scale, causal,
                           window_size, softcap, alibi_slopes, deterministic,
                           return_attn_probs)  # fmt: skip


def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False,
                              window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                              deterministic=False, return_attn_probs=False):  # fmt: skip
    """qkv is [batch, seqlen, 3, heads, head_dim], and read in place."""
    return flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], dropout_p, softmax_scale,
                           causal, window_size, softcap, alibi_slopes, deterministic,
                           return_attn_probs)  # fmt: skip
