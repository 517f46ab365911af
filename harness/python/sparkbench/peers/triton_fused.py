"""A fused kernel in Triton as one writes it first: online softmax forward; backward by two kernels, one
over key tiles for dK and dV, one over query tiles for dQ, both recomputing P from the LSE.

Row i stands at key i + seqlen_k - seqlen_q. It sees LEFT keys before that and RIGHT after it."""

import torch
import triton
import triton.language as tl

import sparkbench

from ._common import version_of

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def load_tile(base, rows, dims, stride, count, D: tl.constexpr):
    inside = (rows[:, None] < count) & (dims[None] < D)
    return tl.load(base + rows[:, None].to(tl.int64) * stride + dims[None], mask=inside, other=0.0)


@triton.jit
def store_tile(base, rows, dims, stride, count, tile, D: tl.constexpr):
    inside = (rows[:, None] < count) & (dims[None] < D)
    at = base + rows[:, None].to(tl.int64) * stride + dims[None]
    tl.store(at, tile.to(base.dtype.element_ty), mask=inside)


@triton.jit
def visible(rows, keys, M, N, LEFT, RIGHT, HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr):
    """[rows, keys]"""
    p = rows[:, None] + (N - M)
    seen = (keys[None] < N) & (rows[:, None] < M)
    if HAS_LEFT:
        seen = seen & (keys[None] >= p - LEFT)
    if HAS_RIGHT:
        seen = seen & (keys[None] <= p + RIGHT)
    return seen


@triton.jit
def attend(acc, m, l, q, k_base, v_base, k_stride, v_stride, rows, begin, end, scale, M, N, LEFT,
           RIGHT, HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr, IS_CUT: tl.constexpr,
           D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    """Online softmax over the keys from begin to end; IS_CUT where the mask crosses their tiles."""
    dims = tl.arange(0, BLOCK_D)
    for start in range(begin, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = load_tile(k_base, keys, dims, k_stride, N, D)
        s = tl.dot(q, tl.trans(k)) * (scale * LOG2E)
        if IS_CUT:
            s = tl.where(visible(rows, keys, M, N, LEFT, RIGHT, HAS_LEFT, HAS_RIGHT), s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp2(s - m_safe[:, None])
        alpha = tl.exp2(m - m_safe)
        l = l * alpha + tl.sum(p, 1)
        v = load_tile(v_base, keys, dims, v_stride, N, D)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = m_new
    return acc, m, l


@triton.jit
def forward_kernel(Q, K, V, O, LSE, scale, q_b, q_s, q_h, k_b, k_s, k_h, v_b, v_s, v_h, o_b, o_s, o_h,
                   HEADS, GROUP, M, N, LEFT, RIGHT, HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr,
                   D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * BLOCK_M
    b = (tl.program_id(1) // HEADS).to(tl.int64)
    h = (tl.program_id(1) % HEADS).to(tl.int64)
    rows, dims = first + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    q = load_tile(Q + b * q_b + h * q_h, rows, dims, q_s, M, D)
    k_base = K + b * k_b + h // GROUP * k_h
    v_base = V + b * v_b + h // GROUP * v_h
    # Keys that a row of the tile sees, and among them whole tiles of keys that all rows see.
    p_first = first + N - M
    low, high, all_low, all_high = 0, N, 0, N // BLOCK_N * BLOCK_N
    if HAS_LEFT:
        low = tl.maximum(0, p_first - LEFT) // BLOCK_N * BLOCK_N
        all_low = tl.cdiv(tl.maximum(0, p_first + BLOCK_M - 1 - LEFT), BLOCK_N) * BLOCK_N
    if HAS_RIGHT:
        high = tl.minimum(N, tl.maximum(0, p_first + BLOCK_M + RIGHT))
        all_high = tl.minimum(all_high, tl.maximum(0, p_first + RIGHT + 1) // BLOCK_N * BLOCK_N)
    all_low = tl.minimum(tl.maximum(all_low, low), tl.maximum(high, low))
    all_high = tl.maximum(all_high, all_low)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc, m, l = attend(acc, m, l, q, k_base, v_base, k_s, v_s, rows, low, all_low, scale, M, N, LEFT,
                       RIGHT, HAS_LEFT, HAS_RIGHT, True, D, BLOCK_D, BLOCK_N)  # fmt: skip
    acc, m, l = attend(acc, m, l, q, k_base, v_base, k_s, v_s, rows, all_low, all_high, scale, M, N,
                       LEFT, RIGHT, HAS_LEFT, HAS_RIGHT, False, D, BLOCK_D, BLOCK_N)  # fmt: skip
    acc, m, l = attend(acc, m, l, q, k_base, v_base, k_s, v_s, rows, all_high, high, scale, M, N, LEFT,
                       RIGHT, HAS_LEFT, HAS_RIGHT, True, D, BLOCK_D, BLOCK_N)  # fmt: skip
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    store_tile(O + b * o_b + h * o_h, rows, dims, o_s, M, o, D)
    lse = tl.where(l == 0.0, float("-inf"), m / LOG2E + tl.log(l))
    tl.store(LSE + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


@triton.jit
def recompute(q, k, d_o, v, lse, delta, rows, keys, scale, M, N, LEFT, RIGHT,
              HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr):  # fmt: skip
    """P and dS of a tile: [rows, keys]."""
    seen = visible(rows, keys, M, N, LEFT, RIGHT, HAS_LEFT, HAS_RIGHT)
    s = tl.dot(q, tl.trans(k)) * (scale * LOG2E)
    p = tl.where(seen, tl.exp2(s - lse[:, None] * LOG2E), 0.0)
    return p, p * (tl.dot(d_o, tl.trans(v)) - delta[:, None])


@triton.jit
def dkdv_kernel(Q, K, V, D_O, LSE, DELTA, DK, DV, scale, q_b, q_s, q_h, k_b, k_s, k_h, v_b, v_s, v_h,
                d_b, d_s, d_h, g_b, g_s, g_h, HEADS, GROUP, M, N, LEFT, RIGHT,
                HAS_LEFT: tl.constexpr, HAS_RIGHT: tl.constexpr, D: tl.constexpr,
                BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * BLOCK_N
    key_heads = HEADS // GROUP
    b = (tl.program_id(1) // key_heads).to(tl.int64)
    h_k = (tl.program_id(1) % key_heads).to(tl.int64)
    keys, dims = first + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    k = load_tile(K + b * k_b + h_k * k_h, keys, dims, k_s, N, D)
    v = load_tile(V + b * v_b + h_k * v_h, keys, dims, v_s, N, D)
    low, high = 0, M  # rows that see a key of the tile
    if HAS_RIGHT:
        low = tl.maximum(0, first - RIGHT - (N - M)) // BLOCK_M * BLOCK_M
    if HAS_LEFT:
        high = tl.minimum(M, tl.maximum(0, first + BLOCK_N + LEFT - (N - M)))
    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    for member in range(0, GROUP):
        h = h_k * GROUP + member
        statistics = (b * HEADS + h) * M
        for start in range(low, high, BLOCK_M):
            rows = start + tl.arange(0, BLOCK_M)
            q = load_tile(Q + b * q_b + h * q_h, rows, dims, q_s, M, D)
            d_o = load_tile(D_O + b * d_b + h * d_h, rows, dims, d_s, M, D)
            lse = tl.load(LSE + statistics + rows, mask=rows < M, other=0.0)
            delta = tl.load(DELTA + statistics + rows, mask=rows < M, other=0.0)
            p, ds = recompute(q, k, d_o, v, lse, delta, rows, keys, scale, M, N, LEFT, RIGHT,
                              HAS_LEFT, HAS_RIGHT)  # fmt: skip
            dv += tl.dot(tl.trans(p.to(d_o.dtype)), d_o)
            dk += tl.dot(tl.trans(ds.to(q.dtype)), q)
    store_tile(DK + b * g_b + h_k * g_h, keys, dims, g_s, N, dk * scale, D)
    store_tile(DV + b * g_b + h_k * g_h, keys, dims, g_s, N, dv, D)


@triton.jit
def dq_kernel(Q, K, V, D_O, LSE, DELTA, DQ, scale, q_b, q_s, q_h, k_b, k_s, k_h, v_b, v_s, v_h, d_b,
              d_s, d_h, g_b, g_s, g_h, HEADS, GROUP, M, N, LEFT, RIGHT, HAS_LEFT: tl.constexpr,
              HAS_RIGHT: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * BLOCK_M
    b = (tl.program_id(1) // HEADS).to(tl.int64)
    h = (tl.program_id(1) % HEADS).to(tl.int64)
    rows, dims = first + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    q = load_tile(Q + b * q_b + h * q_h, rows, dims, q_s, M, D)
    d_o = load_tile(D_O + b * d_b + h * d_h, rows, dims, d_s, M, D)
    statistics = (b * HEADS + h) * M
    lse = tl.load(LSE + statistics + rows, mask=rows < M, other=0.0)
    delta = tl.load(DELTA + statistics + rows, mask=rows < M, other=0.0)
    p_first = first + N - M
    low, high = 0, N
    if HAS_LEFT:
        low = tl.maximum(0, p_first - LEFT) // BLOCK_N * BLOCK_N
    if HAS_RIGHT:
        high = tl.minimum(N, tl.maximum(0, p_first + BLOCK_M + RIGHT))
    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for start in range(low, high, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = load_tile(K + b * k_b + h // GROUP * k_h, keys, dims, k_s, N, D)
        v = load_tile(V + b * v_b + h // GROUP * v_h, keys, dims, v_s, N, D)
        _, ds = recompute(q, k, d_o, v, lse, delta, rows, keys, scale, M, N, LEFT, RIGHT, HAS_LEFT,
                          HAS_RIGHT)  # fmt: skip
        dq += tl.dot(ds.to(k.dtype), k)
    store_tile(DQ + b * g_b + h * g_h, rows, dims, g_s, M, dq * scale, D)


def strides_of(*tensors):
    return [stride for x in tensors for stride in x.stride()[:3]]


def tiles_of(head_dim):
    """Forward and backward: BLOCK_M, BLOCK_N, num_warps, num_stages."""
    if head_dim <= 64:
        return (128, 64, 4, 3), (64, 64, 4, 2)
    if head_dim <= 128:
        return (128, 64, 8, 3), (64, 64, 8, 2)
    return (64, 32, 8, 2), (32, 32, 8, 1)


def options_of(q, window, tiles):
    block_m, block_n, warps, stages = tiles
    return {
        "HAS_LEFT": window[0] >= 0, "HAS_RIGHT": window[1] >= 0, "D": q.shape[3],
        "BLOCK_D": max(16, triton.next_power_of_2(q.shape[3])), "BLOCK_M": block_m,
        "BLOCK_N": block_n, "num_warps": warps, "num_stages": stages,
    }  # fmt: skip


def backward(d_out, q, k, v, out, lse, *, window, softmax_scale):
    batch, rows, heads, head_dim = q.shape
    keys, heads_k = k.shape[1:3]
    delta = (out.float() * d_out.float()).sum(-1).transpose(1, 2).contiguous()
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    options = options_of(q, window, tiles_of(head_dim)[1])
    numbers = (heads, heads // heads_k, rows, keys, *window)
    grid = (triton.cdiv(keys, options["BLOCK_N"]), batch * heads_k)
    dkdv_kernel[grid](q, k, v, d_out, lse, delta, dk, dv, softmax_scale,
                      *strides_of(q, k, v, d_out, dk), *numbers, **options)  # fmt: skip
    grid = (triton.cdiv(rows, options["BLOCK_M"]), batch * heads)
    dq_kernel[grid](q, k, v, d_out, lse, delta, dq, softmax_scale,
                    *strides_of(q, k, v, d_out, dq), *numbers, **options)  # fmt: skip
    return dq, dk, dv


@sparkbench.kernel(
    name="triton-fused", version=version_of("triton"), backward=backward, gqa=True,
    deterministic=True, backends=("cuda",),
)  # fmt: skip
def triton_fused(q, k, v, *, window, softmax_scale):
    """A plain fused kernel in Triton"""
    batch, rows, heads, head_dim = q.shape
    keys, heads_k = k.shape[1:3]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(batch, heads, rows, dtype=torch.float32, device=q.device)
    options = options_of(q, window, tiles_of(head_dim)[0])
    grid = (triton.cdiv(rows, options["BLOCK_M"]), batch * heads)
    forward_kernel[grid](q, k, v, out, lse, softmax_scale, *strides_of(q, k, v, out), heads,
                         heads // heads_k, rows, keys, *window, **options)  # fmt: skip
    return out, lse
