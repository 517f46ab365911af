"""SDPA of nested tensors of the jagged layout, [batch, heads, any lengths, head_dim], as sequences of
any lengths, where PyTorch would not get to the operator that is overridden or that could not tell.

A causal mask is one: PyTorch's begins at the first key of each sequence, the kernels' ends at the last,
and they are the same where q and k have the same lengths. The operator is given copies of the offsets,
which only the GPU could compare; here the tensors still have their own, so that those made with the same
offsets are known.
"""

import torch

from . import _served, _transforms
from ._sdpa_operator import is_allowed
from ._varlen import attention_varlen


def is_kind(query):
    return query.is_nested and query.layout == torch.jagged


def passes_by_kernels(query, key, is_causal, enable_gqa):
    """Whether the operator would not be reached, or could not tell."""
    if query.device.type == "cpu":
        return True
    shares_heads = enable_gqa and query.shape[1] != key.shape[1]
    return (is_causal or shares_heads) and is_allowed()


def why_not(query, key, value, attn_mask, dropout_p, scale, enable_gqa, accumulator):
    tensors = query, key, value
    if not all(is_kind(tensor) and tensor.dim() == 4 for tensor in tensors):
        return "tensors that are not all nested, of 4 dimensions"
    # PyTorch has no other way to ask which dimension is the ragged one.
    if not all(getattr(tensor, "_ragged_idx", None) == 2 for tensor in tensors):
        return "nested tensors whose lengths are not those of rows"
    if not all(tensor.offsets() is query.offsets() and tensor.lengths() is None for tensor in tensors):
        return "nested tensors of other offsets each"
    reason = _served.why_not_call(query, key, attn_mask, dropout_p, scale, enable_gqa)
    if reason is not None:
        return reason
    return (_transforms.why_left_to_pytorch(*tensors)
            or _served.why_not(*(packed(tensor)[None] for tensor in tensors), accumulator))  # fmt: skip


def packed(tensor):
    """[total, heads, head_dim]."""
    return tensor.transpose(1, 2).values()


def attend(query, key, value, dropout_p, is_causal, scale, accumulator):
    """A call that why_not() has nothing against."""
    offsets = query.offsets()
    lengths = offsets.to(torch.int32)
    out = attention_varlen(*map(packed, (query, key, value)), lengths, lengths, causal=is_causal,
                           dropout_p=dropout_p, scale=scale, accumulator=accumulator,
                           dropout_scale="asked")  # fmt: skip
    return torch.nested.nested_tensor_from_jagged(out, offsets).transpose(1, 2)
