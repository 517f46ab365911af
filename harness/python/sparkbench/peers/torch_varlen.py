"""PyTorch's ways to compute sequences of several lengths, beside its operators (torch_sdpa.py)."""

import torch

import sparkbench

from ._common import is_top_left, repeated_keys, version_of

OPTIONS = {
    "version": version_of("torch"), "backends": ("cuda",), "prepare": True, "varlen": True,
    "gqa": True, "masks": ("full", "causal"),
}  # fmt: skip


def only_varlen(problem):
    return None if problem.is_varlen else "it is for sequences of several lengths (--lengths)"


@sparkbench.kernel(name="torch-varlen", supports=only_varlen, scale=False, **OPTIONS)
def torch_varlen(problem):
    """torch.nn.attention.varlen, since PyTorch 2.10"""
    from torch.nn.attention.varlen import varlen_attn

    def attention(q, k, v, *, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
        return varlen_attn(
            *repeated_keys(q, k, v, dim=1), cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
            problem.causal,
        )  # fmt: skip

    return attention


@sparkbench.kernel(name="torch-nested", dropout=True, **OPTIONS)
def torch_nested(problem):
    """scaled_dot_product_attention of nested tensors in the jagged layout"""

    def attention(q, k, v, *, cu_seqlens_q, cu_seqlens_k, softmax_scale, dropout_p):
        q, k, v = (
            torch.nested.nested_tensor_from_jagged(x, offsets.long()).transpose(1, 2)
            for x, offsets in zip(
                repeated_keys(q, k, v, dim=1), (cu_seqlens_q, cu_seqlens_k, cu_seqlens_k)
            )
        )
        o = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, dropout_p=dropout_p, scale=softmax_scale, is_causal=problem.causal
        )
        return o.transpose(1, 2).values()

    return attention


@torch_nested.supports
def why_not_nested(problem):
    if why := only_varlen(problem):
        return why
    if not all(q and k for q, k in problem.lengths):
        return "torch-nested has no empty sequences"
    if not is_top_left(problem):
        return "torch-nested aligns a causal mask to the top left: lengths must be equal"
    return None


@sparkbench.kernel(name="torch-padded", dropout=True, **OPTIONS)
def torch_padded(problem):
    """scaled_dot_product_attention of a batch padded to its longest sequence; padding is timed"""
    shape = (problem.batch, 1, problem.seqlen_q, problem.seqlen_k)
    device = f"cuda:{problem.device}"
    seen = torch.zeros(shape, dtype=torch.bool, device=device)
    for entry, (rows, keys) in enumerate(problem.lengths):
        of_sequence = torch.ones(rows, keys, dtype=torch.bool, device=device)
        seen[entry, 0, :rows, :keys] = of_sequence.tril(keys - rows) if problem.causal else of_sequence
    seen[..., 0] |= ~seen.any(-1)  # nobody reads these rows

    def places(lengths, longest):
        return torch.tensor(
            [i * longest + j for i, n in enumerate(lengths) for j in range(n)], device=device
        )

    of_q = places([q for q, _ in problem.lengths], problem.seqlen_q)
    of_k = places([k for _, k in problem.lengths], problem.seqlen_k)

    def padded(x, at, longest):
        batch = x.new_zeros(problem.batch * longest, *x.shape[1:]).index_copy(0, at, x)
        return batch.unflatten(0, (problem.batch, longest)).transpose(1, 2)

    def attention(q, k, v, *, softmax_scale, dropout_p):
        q, k, v = repeated_keys(q, k, v, dim=1)
        q = padded(q, of_q, problem.seqlen_q)
        k, v = (padded(x, of_k, problem.seqlen_k) for x in (k, v))
        o = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=seen, dropout_p=dropout_p, scale=softmax_scale
        )
        return o.transpose(1, 2).flatten(0, 1).index_select(0, of_q)

    return attention


@torch_padded.supports
def why_not_padded(problem):
    if why := only_varlen(problem):
        return why
    return "torch-padded has no rows without a visible key" if problem.has_blind_rows() else None
