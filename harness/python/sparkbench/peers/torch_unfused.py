"""A user's code without fusion: baddbmm with the scale folded in, masked_fill, softmax, dropout,
bmm, and autograd. Its products need tensors with heads before rows, and copy them first."""

import torch

import sparkbench

from ._common import repeated_keys, version_of


@sparkbench.kernel(
    name="torch-unfused", version=version_of("torch"), prepare=True, dropout=True, gqa=True,
    masks=sparkbench.MASKS,
)  # fmt: skip
def torch_unfused(problem):
    """PyTorch's matmul, masked softmax, dropout, matmul"""
    hidden = blind = None
    if problem.mask_kind != "full":
        hidden = ~problem.dense_mask(torch)[None]  # [1, 1 or heads, rows, keys]
        blind = hidden.all(-1, keepdim=True) if problem.has_blind_rows() else None

    def attention(q, k, v, *, softmax_scale, dropout_p):
        q, k, v = (x.transpose(1, 2) for x in repeated_keys(q, k, v, dim=2))
        shape = q.shape
        q, k, v = (x.flatten(0, 1) for x in (q, k, v))
        unread = q.new_empty(1, 1, 1)  # beta is 0
        p = torch.baddbmm(unread, q, k.transpose(1, 2), beta=0, alpha=softmax_scale)
        p = p.unflatten(0, shape[:2])
        if hidden is not None:
            p = p.masked_fill(hidden, float("-inf"))
        p = torch.softmax(p, -1)
        if blind is not None:
            p = p.masked_fill(blind, 0.0)
        if dropout_p > 0:
            p = torch.nn.functional.dropout(p, dropout_p)
        return torch.bmm(p.flatten(0, 1), v).unflatten(0, shape[:2]).transpose(1, 2)

    return attention
