"""FlexAttention: PyTorch compiles the mask's predicate, and a block mask lists the blocks of 128
rows and keys that it visits. Neither compilation nor building the block mask is part of the
pass's time. The plan reports how long the second build of the block mask takes."""

import time

BLOCK = 128
# The most memory per pair while the mask of all pairs is built: row and key numbers are
# one-dimensional, and a comparison takes a byte per pair.
BYTES_OF_PAIR = 8


def fits(free_bytes, heads, seqlen_q, seqlen_k):
    """Whether the mask of all pairs fits into this much memory."""
    return BYTES_OF_PAIR * heads * seqlen_q * seqlen_k <= free_bytes


class Flex:
    def __init__(self, torch, case):
        self.torch, self.case = torch, case
        try:
            from torch.nn.attention import flex_attention
        except ImportError as error:
            raise NotImplementedError(f"torch-flex needs PyTorch 2.5 or later ({error})") from error
        self.flex = flex_attention
        torch._dynamo.reset()  # otherwise a sweep's many shapes exceed the cache limit for one
                               # function
        self.blocks = None
        if case.mask.kind != "full":
            self.make_blocks()  # warms up, or compiles
            begin = time.perf_counter()
            self.blocks = self.make_blocks()
            self.seconds = time.perf_counter() - begin
        self.attend = torch.compile(flex_attention.flex_attention, dynamic=False)

    def make_blocks(self):
        """Builds from the mask of all pairs, which takes milliseconds, if it fits into memory.
        Otherwise compiles, which needs no such memory but takes minutes."""
        case, torch = self.case, self.torch
        has_heads = case.mask.kind == "pattern" and len(case.mask.unions) > 1
        heads = case.problem["heads"] if has_heads else None
        lengths = case.problem["seqlen_q"], case.problem["seqlen_k"]
        create = self.flex.create_block_mask
        if not fits(torch.cuda.mem_get_info()[0], heads or 1, *lengths):
            create = torch.compile(create)
        blocks = create(
            case.mask.mask_mod(torch), None, heads, *lengths, device="cuda", BLOCK_SIZE=BLOCK
        )
        torch.cuda.synchronize()
        return blocks

    def mask_plan(self):
        """For all heads: the visited blocks, the build time and the size."""
        problem = self.case.problem
        heads = problem["batch"] * problem["heads"]
        if self.blocks is None:
            rows, keys = (-(-problem[name] // BLOCK) for name in ("seqlen_q", "seqlen_k"))
            partial, full, seconds, bytes_of_mask = 0, heads * rows * keys, 0.0, 0
        else:
            of_all = heads // self.blocks.kv_num_blocks[..., 0].numel()
            partial = of_all * int(self.blocks.kv_num_blocks.sum())
            full = of_all * int(self.blocks.full_kv_num_blocks.sum())
            seconds = self.seconds
            tensors = [x for x in self.blocks.as_tuple() if self.torch.is_tensor(x)]
            bytes_of_mask = sum(x.numel() * x.element_size() for x in tensors)
        return {
            "pairs_executed": (partial + full) * BLOCK * BLOCK,
            "partial_share": partial / (partial + full) if partial + full else None,
            "analysis_us": seconds * 1e6,
            "metadata_bytes": bytes_of_mask,
        }

    def forward(self, inputs):
        self.inputs = inputs
        self.o = self.attend(
            *inputs,
            block_mask=self.blocks,
            scale=self.case.problem["scale"],
            enable_gqa=self.case.group_size > 1,
        )
        return self.o

    def backward(self, d_o):
        return self.torch.autograd.grad(self.o, self.inputs, d_o, retain_graph=True)
