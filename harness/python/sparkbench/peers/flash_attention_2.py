"""FlashAttention-2: pip install flash-attn."""

from flash_attn import flash_attn_func, flash_attn_varlen_func

import sparkbench

from ._common import version_of


@sparkbench.kernel(
    name="flash-attn-2", version=version_of("flash-attn", "torch"), backends=("cuda",), gqa=True,
    masks=("full", "causal", "window", "band"),
)  # fmt: skip
def flash_attn_2(q, k, v, *, causal, window, softmax_scale, dropout_p, deterministic,
                 cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):  # fmt: skip
    """FlashAttention-2"""
    options = {"dropout_p": dropout_p, "softmax_scale": softmax_scale, "causal": causal,
               "window_size": window, "deterministic": deterministic}  # fmt: skip
    if cu_seqlens_q is None:
        return flash_attn_func(q, k, v, **options)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, **options
    )
