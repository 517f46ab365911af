"""A block-sparse forward kernel in Triton: for each tile of 64 rows a list of the tiles of 64 keys in
which something is visible. Tiles that the mask cuts read its booleans. Lists are made once."""

import torch
import triton
import triton.language as tl

import sparkbench

from ._common import version_of
from .triton_fused import LOG2E, load_tile, store_tile, strides_of

BLOCK = 64


@triton.jit
def forward_kernel(Q, K, V, O, LSE, SEEN, LISTS, COUNTS, scale, q_b, q_s, q_h, k_b, k_s, k_h, v_b, v_s,
                   v_h, o_b, o_s, o_h, HEADS, GROUP, MASK_HEADS, M, N, N_SEEN, TILES, LONGEST,
                   D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr):  # fmt: skip
    tile = tl.program_id(0)
    b = (tl.program_id(1) // HEADS).to(tl.int64)
    h = (tl.program_id(1) % HEADS).to(tl.int64)
    rows, dims = tile * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    q = load_tile(Q + b * q_b + h * q_h, rows, dims, q_s, M, D)
    mask_head = h % MASK_HEADS
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    entries = LISTS + (mask_head * TILES + tile) * LONGEST
    for i in range(0, tl.load(COUNTS + mask_head * TILES + tile)):
        entry = tl.load(entries + i)  # twice the tile's number, and 1 if the mask cuts it
        keys = entry // 2 * BLOCK_M + tl.arange(0, BLOCK_M)
        k = load_tile(K + b * k_b + h // GROUP * k_h, keys, dims, k_s, N, D)
        s = tl.dot(q, tl.trans(k)) * (scale * LOG2E)
        at = SEEN + (mask_head * TILES * BLOCK_M + rows[:, None]).to(tl.int64) * N_SEEN + keys[None]
        is_cut = rows[:, None] * 0 + keys[None] * 0 + entry % 2 == 1
        s = tl.where(tl.load(at, mask=is_cut, other=1) != 0, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        p, alpha = tl.exp2(s - m_safe[:, None]), tl.exp2(m - m_safe)
        l = l * alpha + tl.sum(p, 1)
        v = load_tile(V + b * v_b + h // GROUP * v_h, keys, dims, v_s, N, D)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    store_tile(O + b * o_b + h * o_h, rows, dims, o_s, M, o, D)
    lse = tl.where(l == 0.0, float("-inf"), m / LOG2E + tl.log(l))
    tl.store(LSE + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


def lists_of(problem):
    """The mask padded to whole tiles, the lists [heads, tiles, longest] and their lengths."""
    seen = problem.dense_mask(torch)
    more = (-problem.seqlen_k % BLOCK, -problem.seqlen_q % BLOCK)
    seen = torch.nn.functional.pad(seen, (0, more[0], 0, more[1]))
    tiles = seen.unflatten(1, (-1, BLOCK)).unflatten(3, (-1, BLOCK))
    some, every = tiles.any(4).any(2), tiles.all(4).all(2)
    counts = some.sum(-1, dtype=torch.int32)
    order = (~some).to(torch.uint8).sort(dim=-1, stable=True).indices[..., : max(1, int(counts.max()))]
    lists = (2 * order + (~every).gather(-1, order)).to(torch.int32).contiguous()
    return seen.to(torch.uint8).contiguous(), lists, counts.contiguous()


@sparkbench.kernel(
    name="triton-block-sparse", version=version_of("triton"), backends=("cuda",), prepare=True,
    gqa=True, masks=sparkbench.MASKS, autograd=False,
)  # fmt: skip
def triton_block_sparse(problem):
    """A block-sparse forward kernel in Triton"""
    seen, lists, counts = lists_of(problem)

    def attention(q, k, v, *, softmax_scale):
        batch, rows, heads, head_dim = q.shape
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        lse = torch.empty(batch, heads, rows, dtype=torch.float32, device=q.device)
        forward_kernel[(lists.shape[1], batch * heads)](
            q, k, v, out, lse, seen, lists, counts, softmax_scale, *strides_of(q, k, v, out), heads,
            heads // k.shape[2], len(seen), rows, k.shape[1], seen.shape[2], lists.shape[1],
            lists.shape[2], D=head_dim, BLOCK_D=max(16, triton.next_power_of_2(head_dim)),
            BLOCK_M=BLOCK, num_warps=4 if head_dim <= 64 else 8, num_stages=2,
        )  # fmt: skip
        return out, lse

    return attention


@triton_block_sparse.supports
def why_not(problem):
    return "triton-block-sparse has no backward pass" if problem.has_backward else None
