"""xformers' memory_efficient_attention, which chooses a kernel: pip install xformers."""

from xformers.ops import fmha, memory_efficient_attention

import sparkbench

from ._common import version_of

bias = fmha.attn_bias


def bias_of(problem):
    left, right = problem.window
    if problem.is_varlen:
        q, k = zip(*problem.lengths)
        blocks = bias.BlockDiagonalMask.from_seqlens(list(q), list(k))
        return blocks.make_causal_from_bottomright() if problem.causal else blocks
    if problem.mask_kind == "full":
        return None
    if problem.mask_kind == "causal":
        return bias.LowerTriangularFromBottomRightMask()
    return bias.LocalAttentionFromBottomRightMask(window_left=left, window_right=right)


@sparkbench.kernel(
    name="xformers", version=version_of("xformers", "torch"), backends=("cuda",), prepare=True,
    masks=("full", "causal", "window", "band"), dropout=True, varlen=True, gqa=True,
)  # fmt: skip
def xformers(problem):
    """xformers' memory_efficient_attention"""
    attn_bias, group = bias_of(problem), problem.heads // problem.heads_k

    def grouped(x):
        """[1 or batch, rows, key heads, group, head_dim]"""
        x = x.unsqueeze(0) if problem.is_varlen else x
        if group == 1:
            return x
        if x.shape[2] == problem.heads:
            return x.unflatten(2, (problem.heads_k, group))
        return x.unsqueeze(3).expand(-1, -1, -1, group, -1)

    def attention(q, k, v, *, softmax_scale, dropout_p):
        out = memory_efficient_attention(
            *(grouped(x) for x in (q, k, v)), attn_bias=attn_bias, p=dropout_p, scale=softmax_scale
        )
        return out.reshape(q.shape)

    return attention


@xformers.supports
def why_not(problem):
    if problem.is_varlen and problem.mask_kind not in ("full", "causal"):
        return f"xformers has no mask {problem.mask} for sequences of several lengths here"
    return "xformers has no rows without a visible key" if problem.has_blind_rows() else None
