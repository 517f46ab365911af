"""PyTorch's operators behind SDPA, which take windows and offsets. Over [batch, seqlen, heads,
head_dim], or [total, heads, head_dim] with offsets. They are not differentiated by autograd here."""

import torch

from ._common import repeated_keys

CAUSAL_FROM_BOTTOM_RIGHT = 2  # custom_mask_type of _efficient_attention_forward


def flash(problem):
    """A window is offsets of its first and last key: W keys are W - 1 and 0."""
    left, right = problem.window
    options = {
        "scale": problem.softmax_scale, "window_size_left": left, "window_size_right": right,
    }  # fmt: skip
    lengths = (problem.seqlen_q, problem.seqlen_k)
    aten = torch.ops.aten

    def forward(q, k, v, *, dropout_p, cu_seqlens_q, cu_seqlens_k):
        out, lse, rng_state, unused, _ = aten._flash_attention_forward(
            q, k, v, cu_seqlens_q, cu_seqlens_k, *lengths, dropout_p, False, False, **options
        )
        return out, None, lse, rng_state, unused

    def backward(d_out, q, k, v, out, _lse, lse, rng_state, unused, *, dropout_p, cu_seqlens_q,
                 cu_seqlens_k):  # fmt: skip
        return aten._flash_attention_backward(
            d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, *lengths, dropout_p, False,
            rng_state, unused, **options,
        )  # fmt: skip

    return forward, backward


def efficient(problem):
    """A window is a number of keys, under a causal mask aligned to the bottom right. With offsets
    the batch is one: [1, total, heads, head_dim]."""
    kind = 0 if problem.mask_kind == "full" else CAUSAL_FROM_BOTTOM_RIGHT
    window = problem.window[0] + 1 if problem.mask_kind == "window" else None
    options = {"scale": problem.softmax_scale, "window_size": window}
    lengths, group = (problem.seqlen_q, problem.seqlen_k), problem.heads // problem.heads_k
    aten = torch.ops.aten

    def batched(*tensors):
        return [x.unsqueeze(0) for x in tensors] if problem.is_varlen else list(tensors)

    def forward(q, k, v, *, dropout_p, cu_seqlens_q, cu_seqlens_k):
        q, k, v = batched(*repeated_keys(q, k, v, dim=-2))
        out, lse, philox_seed, philox_offset, *_ = aten._efficient_attention_forward(
            q, k, v, None, cu_seqlens_q, cu_seqlens_k, *lengths, dropout_p, kind, True, **options
        )
        o = out.squeeze(0) if problem.is_varlen else out
        return o, None, (q, k, v), out, lse, philox_seed, philox_offset

    def backward(d_out, _q, _k, _v, _out, _lse, qkv, out, lse, philox_seed, philox_offset, *,
                 dropout_p, cu_seqlens_q, cu_seqlens_k):  # fmt: skip
        dq, dk, dv = aten._efficient_attention_backward(
            *batched(d_out), *qkv, None, out, cu_seqlens_q, cu_seqlens_k, *lengths, lse, dropout_p,
            philox_seed, philox_offset, kind, False, **options,
        )[:3]  # fmt: skip
        if group > 1:
            dk, dv = (x.unflatten(-2, (-1, group)).sum(-2) for x in (dk, dv))
        return [x.squeeze(0) for x in (dq, dk, dv)] if problem.is_varlen else (dq, dk, dv)

    return forward, backward
