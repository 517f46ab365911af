"""TransformerEngine's DotProductAttention, which chooses among cuDNN and FlashAttention (the NVTE_*
variables have a say): pip install transformer_engine[pytorch]."""

import torch
from transformer_engine.pytorch import DotProductAttention

import sparkbench

from ._common import version_of


@sparkbench.kernel(
    name="transformer-engine", version=version_of("transformer-engine", "torch"),
    backends=("cuda",), prepare=True, masks=("full", "causal", "window"), dropout=True, varlen=True,
    gqa=True,
)  # fmt: skip
def transformer_engine(problem):
    """TransformerEngine's DotProductAttention"""
    kind = "no_mask" if problem.mask_kind == "full" else "causal_bottom_right"
    if problem.is_varlen:
        kind = "padding" if problem.mask_kind == "full" else "padding_causal_bottom_right"
    elif problem.causal and problem.seqlen_q == problem.seqlen_k:
        kind = "causal"  # the same, and more back ends have it
    module = DotProductAttention(
        problem.heads, problem.head_dim, num_gqa_groups=problem.heads_k,
        attention_dropout=problem.dropout_p, qkv_format="thd" if problem.is_varlen else "bshd",
        attn_mask_type=kind, window_size=problem.window, softmax_scale=problem.softmax_scale,
    ).to(torch.device("cuda", problem.device))  # fmt: skip

    def attention(q, k, v, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
        options = {} if cu_seqlens_q is None else {
            "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_kv": cu_seqlens_k,
            "max_seqlen_q": max_seqlen_q, "max_seqlen_kv": max_seqlen_k,
        }  # fmt: skip
        return module(q, k, v, **options).view(q.shape)

    return attention
