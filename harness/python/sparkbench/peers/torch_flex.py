"""FlexAttention: PyTorch compiles the mask's predicate, and a block mask lists the blocks of 128 rows
and keys that it visits. Neither compiling nor building the block mask is part of a pass."""

import torch
from torch.nn.attention import flex_attention as flex

import sparkbench

from ._common import heads_first, version_of

BLOCK = 128
BYTES_OF_PAIR = 8  # at most, while the mask of all pairs is built


def block_mask(problem):
    """From the mask of all pairs, which takes milliseconds, if that fits into memory. Otherwise it is
    compiled, which needs no such memory and takes minutes."""
    if problem.mask_kind == "pattern":
        seen = problem.dense_mask(torch)
        mask_mod = lambda b, h, q, k: seen[h if problem.mask_per_head else 0, q, k]  # noqa: E731
    else:
        mask_mod = lambda b, h, q, k: problem.visible(q, k)  # noqa: E731
    heads = problem.heads if problem.mask_per_head else None
    pairs = (heads or 1) * problem.seqlen_q * problem.seqlen_k
    create = flex.create_block_mask
    if BYTES_OF_PAIR * pairs > torch.cuda.mem_get_info()[0]:
        create = torch.compile(create)
    device = f"cuda:{problem.device}"
    return create(
        mask_mod, None, heads, problem.seqlen_q, problem.seqlen_k, device=device, BLOCK_SIZE=BLOCK
    )


@sparkbench.kernel(
    name="torch-flex", version=version_of("torch", "triton"), backends=("cuda",), prepare=True,
    gqa=True, masks=sparkbench.MASKS,
)  # fmt: skip
def torch_flex(problem):
    """FlexAttention, compiled, with blocks of 128"""
    torch._dynamo.reset()  # a sweep's many shapes exceed the cache limit for one function
    blocks = None if problem.mask_kind == "full" else block_mask(problem)
    attend = torch.compile(flex.flex_attention, dynamic=False)
    gqa = problem.heads != problem.heads_k

    def attention(q, k, v, *, softmax_scale):
        return heads_first(attend)(
            q, k, v, block_mask=blocks, scale=softmax_scale, enable_gqa=gqa
        )

    return attention
