"""FlashAttention-4 (flash_attn.cute), for Hopper and Blackwell: pip install flash-attn-4. CuTe
compiles it in the first call for a shape."""

from flash_attn.cute import flash_attn_func, flash_attn_varlen_func

import sparkbench

from ._common import version_of


def why_not(problem):
    return None if problem.sm >= 90 else "flash-attn-4 is for compute capability 9.0 and later"


@sparkbench.kernel(
    name="flash-attn-4", version=version_of("flash-attn-4", "torch"), backends=("cuda",), gqa=True,
    masks=("full", "causal", "window", "band"), supports=why_not,
)  # fmt: skip
def flash_attn_4(q, k, v, *, causal, window, softmax_scale, cu_seqlens_q, cu_seqlens_k,
                 max_seqlen_q, max_seqlen_k):  # fmt: skip
    """FlashAttention-4"""
    options = {"softmax_scale": softmax_scale, "causal": causal and window[0] < 0}
    if window[0] >= 0 or window[1] > 0:
        options["window_size"] = tuple(None if bound < 0 else bound for bound in window)
    if cu_seqlens_q is None:
        out = flash_attn_func(q, k, v, **options)
    else:
        out = flash_attn_varlen_func(
            q, k, v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k,
            max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k, **options,
        )  # fmt: skip
    return out[0] if isinstance(out, tuple) else out  # with its LSE, by version
