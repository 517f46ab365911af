"""FlashAttention-3, for Hopper: built from flash-attention's folder hopper/."""

from flash_attn_interface import flash_attn_func, flash_attn_varlen_func

import sparkbench

from ._common import version_of


def why_not(problem):
    return None if problem.sm == 90 else "flash-attn-3 is for compute capability 9.0"


@sparkbench.kernel(
    name="flash-attn-3", version=version_of("flash-attn-3", "torch"), backends=("cuda",), gqa=True,
    masks=("full", "causal", "window", "band"), supports=why_not,
)  # fmt: skip
def flash_attn_3(q, k, v, *, causal, window, softmax_scale, deterministic, cu_seqlens_q,
                 cu_seqlens_k, max_seqlen_q, max_seqlen_k):  # fmt: skip
    """FlashAttention-3"""
    options = {"softmax_scale": softmax_scale, "causal": causal, "window_size": window,
               "deterministic": deterministic}  # fmt: skip
    if cu_seqlens_q is None:
        out = flash_attn_func(q, k, v, **options)
    else:
        out = flash_attn_varlen_func(
            q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, **options
        )
    return out[0] if isinstance(out, tuple) else out  # with its LSE, by version
