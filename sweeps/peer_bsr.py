"""Unfused block-sparse attention: Triton's three kernels, SPLAT's baseline, from PyTorch
(torch.sparse._triton_ops). SDD (sampled_addmm) computes the scores of visible blocks; then
softmax (bsr_softmax) and DSD (bsr_dense_mm) run over these. The blocks are in a BSR tensor,
which is built outside the timed pass.

Blocks have the largest size that divides the mask into whole blocks. If every size leaves
partial blocks, the size is 64, and hidden pairs are -inf, which SDD adds to the scores."""

import time

BLOCKS = (128, 64, 32, 16)  # Triton's products need powers of two from 16 on
CUT_BLOCK = 64


def tiles_of(visible, block):
    """[rows, keys] as [row blocks, key blocks, block, block]."""
    return visible.unflatten(0, (-1, block)).unflatten(2, (-1, block)).transpose(1, 2)


def block_of(visible):
    """(the largest block size without partial blocks, False); or (CUT_BLOCK, True)."""
    for block in BLOCKS:
        if any(length % block for length in visible.shape):
            continue
        pairs = tiles_of(visible, block).flatten(2).sum(2)
        if ((pairs == 0) | (pairs == block * block)).all():
            return block, False
    if any(length % CUT_BLOCK for length in visible.shape):
        rows, keys = visible.shape
        raise NotImplementedError(
            f"torch-bsr has blocks of {CUT_BLOCK} for a mask that cuts them: {rows} rows and {keys}"
            " keys are not multiples of it"
        )
    return CUT_BLOCK, True


class BlockSparse:
    def __init__(self, torch, case, dropout_p):
        self.torch, self.case, self.dropout_p = torch, case, dropout_p
        self.ops = self.triton_ops()
        visible = case.mask.dense(torch)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        self.block, self.is_cut = block_of(visible)
        self.make_blocks(visible)
        torch.cuda.synchronize()
        self.seconds = time.perf_counter() - begin

    @staticmethod
    def triton_ops():
        try:
            from torch.sparse import _triton_ops as ops
        except ImportError as error:
            why = f"torch-bsr needs torch.sparse._triton_ops ({error})"
            raise NotImplementedError(why) from error
        for name in ("sampled_addmm", "bsr_softmax", "bsr_dense_mm"):
            if getattr(ops, name, None) is None:
                raise NotImplementedError(f"torch-bsr needs Triton and PyTorch's {name}")
        return ops

    def make_blocks(self, visible):
        torch, block = self.torch, self.block
        tiles = tiles_of(visible, block)
        touched = tiles.flatten(2).any(2)
        has_blocks = touched.any(1).repeat_interleave(block)
        if (has_blocks & ~visible.any(1)).any():
            raise NotImplementedError("torch-bsr has no rows without a visible key in cut blocks")
        ends = touched.sum(1).cumsum(0)
        begins = torch.cat([ends.new_zeros(1), ends])
        shown = tiles[touched]
        scores = torch.zeros(shown.shape, device=visible.device, dtype=torch.float16)
        scores.masked_fill_(~shown, float("-inf"))
        self.pattern = torch.sparse_bsr_tensor(
            begins.int(), touched.nonzero()[:, 1].int(), scores, size=visible.shape
        )
        self.most_keys = int(touched.sum(1).max()) * block
        self.cut_blocks = int((~shown).flatten(1).any(1).sum())

    def mask_plan(self):
        """For all heads, which share the blocks."""
        blocks = len(self.pattern.values())
        tensors = [self.pattern.crow_indices(), self.pattern.col_indices(), self.pattern.values()]
        heads = self.case.problem["batch"] * self.case.problem["heads"]
        return {
            "pairs_executed": heads * blocks * self.block**2,
            "partial_share": self.cut_blocks / blocks if blocks else None,
            "analysis_us": self.seconds * 1e6,
            "metadata_bytes": sum(x.numel() * x.element_size() for x in tensors),
        }

    def forward(self, inputs):
        """The heads of all batch entries, one after the other, are the blocks' batch."""
        q, k, v = (x.detach() for x in inputs)
        if self.case.group_size > 1:
            k, v = (x.repeat_interleave(self.case.group_size, 1) for x in (k, v))
        q, k, v = (x.flatten(0, 1) for x in (q, k, v))
        scores = self.ops.sampled_addmm(
            self.pattern,
            q,
            k.transpose(1, 2),
            beta=1.0 if self.is_cut else 0.0,
            alpha=self.case.problem["scale"],
        )
        p = self.ops.bsr_softmax(scores, max_row_nnz=self.most_keys)
        if self.dropout_p > 0:
            self.torch.nn.functional.dropout(p.values(), self.dropout_p, inplace=True)
        self.o = self.ops.bsr_dense_mm(p, v).unflatten(0, inputs[0].shape[:2])
        return self.o
