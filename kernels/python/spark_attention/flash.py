"""FlashAttention-2's functions without a cache, by their own signatures (flash_attn 2.8,
flash_attn_interface.py). What these kernels do not have is refused by the argument's name.

lse of a row that sees no key is -inf here, and +inf there.
"""

from . import _library
from ._attention import attention
from ._varlen import attention_varlen

_EVERYTHING = 1 << 29  # further than any key is from any row


def mask_of_window(causal, window_size):
    """The mask of FlashAttention-2's causal and window_size, (keys before, keys after), where -1 is
    all of them and causal allows none after."""
    before, after = window_size
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
            raise _library.UnsupportedError(f"{name} is {given!r}; supported: {allowed!r}")


def _refuse_given(**arguments):
    for name, given in arguments.items():
        if given is not None:
            raise _library.UnsupportedError(f"{name} is given; supported: None")


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                    softcap=0.0, alibi_slopes=None, deterministic=False,
                    return_attn_probs=False):  # fmt: skip
    """q is [batch, seqlen_q, heads, head_dim], k and v [batch, seqlen_k, heads_k, head_dim]."""
    _refuse_given(alibi_slopes=alibi_slopes)
    _refuse(softcap=(softcap, 0.0), return_attn_probs=(return_attn_probs, False))
    return attention(
        q, k, v, mask=mask_of_window(causal, window_size), dropout_p=dropout_p, scale=softmax_scale,
        deterministic=deterministic or None,
    )  # fmt: skip


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


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                           dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1),
                           softcap=0.0, alibi_slopes=None, deterministic=False,
                           return_attn_probs=False, block_table=None):  # fmt: skip
    """q is [total_q, heads, head_dim], k and v [total_k, heads_k, head_dim]; sequence i has rows
    cu_seqlens_q[i] to below cu_seqlens_q[i + 1], and such keys. The longest lengths are not
    wanted: the GPU finds them."""
    _refuse_given(alibi_slopes=alibi_slopes, block_table=block_table)
    _refuse(softcap=(softcap, 0.0), return_attn_probs=(return_attn_probs, False))
    return attention_varlen(
        q, k, v, cu_seqlens_q, cu_seqlens_k, mask=mask_of_window(causal, window_size),
        dropout_p=dropout_p, scale=softmax_scale, deterministic=deterministic or None,
    )  # fmt: skip


def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                                    dropout_p=0.0, softmax_scale=None, causal=False,
                                    window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                                    deterministic=False, return_attn_probs=False):  # fmt: skip
    """kv is [total_k, 2, heads_k, head_dim], and read in place."""
    return flash_attn_varlen_func(q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                                  max_seqlen_k, dropout_p, softmax_scale, causal, window_size,
                                  softcap, alibi_slopes, deterministic,
                                  return_attn_probs)  # fmt: skip


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0, softmax_scale=None,
                                     causal=False, window_size=(-1, -1), softcap=0.0,
                                     alibi_slopes=None, deterministic=False,
                                     return_attn_probs=False):  # fmt: skip
    """qkv is [total, 3, heads, head_dim], and read in place."""
    return flash_attn_varlen_func(qkv[:, 0], qkv[:, 1], qkv[:, 2], cu_seqlens, cu_seqlens,
                                  max_seqlen, max_seqlen, dropout_p, softmax_scale, causal,
                                  window_size, softcap, alibi_slopes, deterministic,
                                  return_attn_probs)  # fmt: skip
