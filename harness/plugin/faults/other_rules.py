#!/usr/bin/env python3
"""Which of the faults (faults.h) two other rules find, on the problems of faults_test.py.

    other_rules.py LIBRARY

KernelBench compares a kernel's output with torch.allclose(atol=1e-2, rtol=1e-2), on one shape. Its rule
is tried on one forward pass without a mask, and then on every output of every problem. FlashAttention's
tests ask that the largest error be at most twice that of attention in fp16, three times for gradients,
and do not compare LSE. What is right is the kernel `naive`, which faults_test.py compares with fp64.
Needs NumPy.
"""

import ctypes
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from sparkbench import _abi  # noqa: E402

import faults_test  # noqa: E402

BATCH, HEADS, HEADS_K, DIM = 2, 4, 2, 16
FULL, CAUSAL, WINDOW = (_abi.FULL, -1, -1, 0), (_abi.BAND, -1, 0, 0), (_abi.BAND, 19, 0, 0)
BAND, PREFIX = (_abi.BAND, 9, 12, 0), (_abi.PREFIX, -1, -1, 21)
# Tensors with heads before rows in memory.
BSHD, BHSD, K_BHSD = (), ("q", "k", "v", "o", "d_o", "dq", "dk", "dv"), ("k", "dk")
# (seqlen_q, seqlen_k, mask, scale of the inputs, dropout_p, layout)
ONE = (64, 64, FULL, 1, 0.0, BSHD)
PROBLEMS = [
    ONE,
    *((70, k, mask, 1, 0.0, BSHD) for k in (33, 70) for mask in (FULL, CAUSAL, WINDOW, BAND, PREFIX)),
    (40, 40, FULL, 16, 0.0, BSHD),
    (16, 1500, FULL, 1, 0.0, BSHD),
    (40, 40, FULL, 1, 0.3, BSHD),
    (20, 20, FULL, 1, 0.0, BHSD),
    (20, 20, FULL, 1, 0.0, K_BHSD),
]


class Run:
    """Inputs of a problem, and what a kernel makes of them."""

    def __init__(self, seqlen_q, seqlen_k, mask, input_scale, dropout_p, layout):
        random = np.random.default_rng(seqlen_q * 1000 + seqlen_k)
        q_shape, k_shape = (BATCH, seqlen_q, HEADS, DIM), (BATCH, seqlen_k, HEADS_K, DIM)
        draw = lambda shape, by: (by * random.standard_normal(shape)).astype(np.float16)  # noqa: E731
        self.q, self.k, self.v = (draw(s, input_scale) for s in (q_shape, k_shape, k_shape))
        self.d_o = draw(q_shape, 1)
        self.mask, self.dropout_p, self.layout = mask, round(256 * dropout_p) / 256, layout
        kind, left, right, prefix = mask
        p = _abi.Problem(struct_bytes=ctypes.sizeof(_abi.Problem), backend=_abi.HOST, batch=BATCH)
        p.heads, p.heads_k, p.seqlen_q, p.seqlen_k, p.head_dim = HEADS, HEADS_K, seqlen_q, seqlen_k, DIM
        p.softmax_scale, p.deterministic = DIM**-0.5, 1
        setattr(p, "pass", _abi.FORWARD_BACKWARD)
        p.mask_kind, p.mask_left, p.mask_right, p.mask_prefix = kind, left, right, prefix
        p.dropout_p, p.dropout_scale = self.dropout_p, 1 / (1 - self.dropout_p)
        self.problem = p

    def of(self, kernel):
        """{output: array}"""
        guard = 64  # some faults write behind
        given = {"q": self.q, "k": self.k, "v": self.v, "d_o": self.d_o}
        inputs = {name: x.transpose(self.order(name)).copy() for name, x in given.items()}
        outputs = {
            name: np.full(like.size + guard, np.nan, np.float16)
            for name, like in (("o", self.q), ("dq", self.q), ("dk", self.k), ("dv", self.v))
        }
        lse = np.full(BATCH * HEADS * self.problem.seqlen_q + guard, np.nan, np.float32)
        tensors = _abi.Tensors(struct_bytes=ctypes.sizeof(_abi.Tensors), lse=lse.ctypes.data)
        for name, array in (*inputs.items(), *outputs.items()):
            heads = HEADS_K if name in ("k", "v", "dk", "dv") else HEADS
            rows = self.problem.seqlen_k if heads == HEADS_K else self.problem.seqlen_q
            strides = (rows * heads * DIM, heads * DIM, DIM)
            if name in self.layout:
                strides = (rows * heads * DIM, DIM, rows * DIM)
            setattr(tensors, name, _abi.Tensor(array.ctypes.data, *strides))
        plan, workspace = ctypes.c_void_p(), np.full(64, 3e38, np.float32)
        kernel.prepare(self.problem, workspace.ctypes.data, None, ctypes.byref(plan))
        kernel.forward(plan, tensors, None)
        kernel.backward(plan, tensors, None)
        kernel.destroy(plan)
        in_rows = lambda name, array: (  # noqa: E731
            array[:-guard].reshape(inputs[{"dk": "k", "dv": "v"}.get(name, "q")].shape)
            .transpose(self.order(name)).ravel().astype(np.float64)
        )  # fmt: skip
        return {name: in_rows(name, array) for name, array in outputs.items()}

    def order(self, tensor):
        """The order of its dimensions in memory."""
        return (0, 2, 1, 3) if tensor in self.layout else (0, 1, 2, 3)

    def in_fp16(self):
        """Attention in fp16 without dropout, as PyTorch computes it: every tensor is rounded."""
        r = lambda x: x.astype(np.float16).astype(np.float64)  # noqa: E731
        group = HEADS // HEADS_K
        q, d_o = (x.astype(np.float64).transpose(0, 2, 1, 3) for x in (self.q, self.d_o))
        k, v = (
            np.repeat(x.astype(np.float64).transpose(0, 2, 1, 3), group, 1) for x in (self.k, self.v)
        )
        s = r(r(q @ k.transpose(0, 1, 3, 2)) * self.problem.softmax_scale)
        s[..., ~self.seen()] = -np.inf
        top = s.max(-1, keepdims=True)
        e = np.exp(s - np.where(np.isfinite(top), top, 0))
        p = r(e / np.maximum(e.sum(-1, keepdims=True), 1e-300))
        o = r(p @ v)
        dp = r(d_o @ v.transpose(0, 1, 3, 2))
        ds = r(p * (dp - (p * dp).sum(-1, keepdims=True))) * self.problem.softmax_scale
        summed = lambda x: x.reshape(BATCH, HEADS_K, group, *x.shape[2:]).sum(2)  # noqa: E731
        dk, dv = summed(r(ds.transpose(0, 1, 3, 2) @ q)), summed(r(p.transpose(0, 1, 3, 2) @ d_o))
        flat = lambda x: r(x).transpose(0, 2, 1, 3).ravel()  # noqa: E731
        return {"o": flat(o), "dq": flat(ds @ k), "dk": flat(dk), "dv": flat(dv)}

    def seen(self):
        kind, left, right, prefix = self.mask
        k = np.arange(self.problem.seqlen_k)
        p = np.arange(self.problem.seqlen_q)[:, None] + len(k) - self.problem.seqlen_q
        if kind == _abi.PREFIX:
            return (k <= p) | (k < prefix)
        return ((left < 0) | (k >= p - left)) & ((right < 0) | (k <= p + right))


def kernels_of(library):
    entry = ctypes.CDLL(library).sparkbench_kernel_entry
    entry.restype, entry.argtypes = ctypes.POINTER(_abi.Kernel), [ctypes.c_uint32] * 2
    found, index = {}, 0
    while kernel := entry(1, index):
        found[kernel.contents.name.decode()] = kernel.contents
        index += 1
    return found


def is_close(got, want):
    return np.allclose(got, want, rtol=1e-2, atol=1e-2)


def is_within(got, want, plain, factor):
    error, allowed = np.abs(got - want).max(), factor * np.abs(plain - want).max()
    return bool(error <= allowed)  # false for a NaN


def main():
    kernels = kernels_of(sys.argv[1])
    faulty = faults_test.names_of("SPARKBENCH_FAULTS")
    right = faults_test.names_of("SPARKBENCH_VARIANTS")
    one, every, flash = set(), set(), set()
    for shape in PROBLEMS:
        run = Run(*shape)
        want = run.of(kernels["naive"])
        plain = run.in_fp16() if run.dropout_p == 0 else run.of(kernels["p-in-fp16-summed"])
        for name in (*faulty, *right):
            got = run.of(kernels[name])
            if shape is ONE and not is_close(got["o"], want["o"]):
                one.add(name)
            if not all(is_close(got[x], want[x]) for x in want):
                every.add(name)
            if not all(is_within(got[x], want[x], plain[x], 2 if x == "o" else 3) for x in want):
                flash.add(name)
    print(f"{'':28} allclose allclose, FlashAttention's\n{'fault':28} once     all       rule, all")
    for name in faulty:
        cells = ("found" if name in of else "-" for of in (one, every, flash))
        print(f"{name:28} {next(cells):8} {next(cells):9} {next(cells)}")
    for what, names in (("found", faulty), ("right ones called wrong", right)):
        counts = [len(of & set(names)) for of in (one, every, flash)]
        print(f"{what + ', of ' + str(len(names)):28} {counts[0]:<8} {counts[1]:<9} {counts[2]}")


if __name__ == "__main__":
    main()
