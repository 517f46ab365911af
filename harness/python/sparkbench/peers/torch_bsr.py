"""Unfused block-sparse attention, SPLAT's baseline: Triton's three kernels in PyTorch
(torch.sparse._triton_ops). SDD computes the scores of blocks with a visible pair, softmax and DSD run
over these. Blocks are the largest that the mask cuts none of, else of 64, and SDD adds -inf to hidden
pairs. They are listed once for a problem."""

import torch
from torch.sparse import _triton_ops as ops

import sparkbench

from ._common import repeated_keys, version_of

BLOCKS = (128, 64, 32, 16)  # Triton's products need powers of two from 16 on
CUT_BLOCK = 64


def tiles_of(visible, block):
    """[rows, keys] as [row blocks, key blocks, block, block]."""
    return visible.unflatten(0, (-1, block)).unflatten(2, (-1, block)).transpose(1, 2)


def block_of(visible):
    """(the largest size of blocks without a cut one, False); or (CUT_BLOCK, True)."""
    for block in BLOCKS:
        if any(length % block for length in visible.shape):
            continue
        pairs = tiles_of(visible, block).flatten(2).sum(2)
        if ((pairs == 0) | (pairs == block * block)).all():
            return block, False
    if any(length % CUT_BLOCK for length in visible.shape):
        raise NotImplementedError(
            f"torch-bsr has blocks of {CUT_BLOCK} for a mask that cuts them: {list(visible.shape)} are "
            "no multiples of it"
        )
    return CUT_BLOCK, True


def blocks_of(visible, block, dtype):
    """(a BSR tensor with 0, and -inf where the mask hides a pair; the most keys of a row)"""
    tiles = tiles_of(visible, block)
    touched = tiles.flatten(2).any(2)
    if (touched.any(1).repeat_interleave(block) & ~visible.any(1)).any():
        raise NotImplementedError("torch-bsr has no rows without a visible key in cut blocks")
    ends = touched.sum(1).cumsum(0)
    begins = torch.cat([ends.new_zeros(1), ends])
    shown = tiles[touched]
    scores = torch.zeros(shown.shape, device=visible.device, dtype=dtype)
    scores.masked_fill_(~shown, float("-inf"))
    keys = touched.nonzero()[:, 1]
    pattern = torch.sparse_bsr_tensor(begins.int(), keys.int(), scores, size=visible.shape)
    return pattern, int(touched.sum(1).max()) * block


@sparkbench.kernel(
    name="torch-bsr", version=version_of("torch", "triton"), backends=("cuda",), prepare=True,
    masks=sparkbench.MASKS, dropout=True, gqa=True, autograd=False,
)  # fmt: skip
def torch_bsr(problem):
    """Triton's block-sparse chain in PyTorch, unfused"""
    visible = problem.dense_mask(torch)[0]
    block, is_cut = block_of(visible)
    pattern, most_keys = blocks_of(visible, block, getattr(torch, problem.dtype))

    def attention(q, k, v, *, softmax_scale, dropout_p):
        batch = q.shape[0]
        q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in repeated_keys(q, k, v, dim=2))
        scores = ops.sampled_addmm(
            pattern, q, k.transpose(1, 2), beta=1.0 if is_cut else 0.0, alpha=softmax_scale
        )
        p = ops.bsr_softmax(scores, max_row_nnz=most_keys)
        if dropout_p > 0:
            torch.nn.functional.dropout(p.values(), dropout_p, inplace=True)
        return ops.bsr_dense_mm(p, v).unflatten(0, (batch, -1)).transpose(1, 2)

    return attention


@torch_bsr.supports
def why_not(problem):
    if getattr(ops, "bsr_softmax", None) is None:
        return "torch-bsr needs Triton, and a GPU for it"
    if problem.mask_per_head:
        return "torch-bsr has one mask for all heads"
    return "torch-bsr has no backward pass" if problem.has_backward else None
