"""A small forward and backward pass on each device, beside fp64.

The allowance is the rule of FlashAttention's tests: the largest error is at most twice, and of
gradients three times, that of the same math in steps in fp16, by PyTorch or NumPy on the same
device. Errors are relative to the largest exact number.
"""

import dataclasses
import math
import time

from .. import _arguments
from .environment import imported_torch

NAMES = ("out", "dq", "dk", "dv")
_FACTORS = (2, 3, 3, 3)
_LEAST = 1e-4


@dataclasses.dataclass(frozen=True)
class Case:
    seqlen_q: int
    seqlen_k: int
    heads: int = 2
    heads_k: int = 2
    head_dim: int = 64
    causal: bool = False
    dropout_p: float = 0.0
    batch: int = 1

    def shapes(self):
        """Those of q, k, v and d_out."""
        q = self.batch, self.seqlen_q, self.heads, self.head_dim
        k = self.batch, self.seqlen_k, self.heads_k, self.head_dim
        return q, k, k, q


CASES = (
    Case(65, 65, causal=True, batch=2),
    Case(97, 65, dropout_p=0.1),
    Case(33, 130, heads=4, heads_k=2, causal=True, dropout_p=0.1),
    Case(100, 100, head_dim=128, causal=True),
    Case(31, 67, heads=2, heads_k=1, head_dim=128, dropout_p=0.1),
)
GPU_CASES = (
    *CASES,
    Case(1031, 1031, heads=4, heads_k=4, causal=True, dropout_p=0.1, batch=2),
    Case(1031, 1031, heads=4, heads_k=2, head_dim=128, causal=True, dropout_p=0.1),
)


def check(device):
    """A dict for each case: the errors, and whether they are within the allowance. Without PyTorch
    the device is "cpu"."""
    with_torch = imported_torch() is not None
    run = _run_torch if with_torch else _run_numpy
    return [_checked(run, case, device) for case in (CASES if device == "cpu" else GPU_CASES)]


def _checked(run, case, device):
    begin = time.perf_counter()
    found = {"device": device, "case": dataclasses.asdict(case), "failed": None}
    found.update({"errors": {}, "allowed": {}, "math": {}})
    try:
        got, exact, half = run(case, device)
    except Exception as error:  # a card may do anything wrong, which is this program's result
        found["failed"] = f"{type(error).__name__}: {error}"
    else:
        for name, factor, *of_name in zip(NAMES, _FACTORS, got, exact, half):
            error, of_math = (relative_error(each, of_name[1]) for each in (of_name[0], of_name[2]))
            found["errors"][name], found["math"][name] = error, of_math
            found["allowed"][name] = factor * of_math + _LEAST
    # NaN is wrong.
    found["wrong"] = [
        name for name in found["errors"] if not found["errors"][name] <= found["allowed"][name]
    ]
    found["ok"] = found["failed"] is None and not found["wrong"]
    found["seconds"] = time.perf_counter() - begin
    return found


def relative_error(got, want):
    """By NumPy's arrays or PyTorch's tensors, in fp64."""
    return float(abs(got - want).max()) / float(abs(want).max())


def math_in_steps(xp, case, q, k, v, d_out, keep):
    """(out, dq, dk, dv) by the definition, each step in the type of the inputs, which are [batch,
    seqlen, heads, head_dim] of the module xp. `keep` is 1 where dropout keeps an element."""
    group, scale = case.heads // case.heads_k, 1 / math.sqrt(case.head_dim)
    kept = 1 / (1 - _arguments.applied_dropout(case.dropout_p))
    q, k, v, d_out = (x.swapaxes(1, 2) for x in (q, k, v, d_out))
    k, v = (xp.stack([x] * group, 2).reshape(case.batch, case.heads, *x.shape[2:]) for x in (k, v))
    s = (q @ k.swapaxes(2, 3)) * scale
    if case.causal:
        rows, keys = xp.arange(case.seqlen_q)[:, None], xp.arange(case.seqlen_k)[None, :]
        hidden = keys > rows + (case.seqlen_k - case.seqlen_q)
        s = xp.where(_on_device_of(s, hidden), -math.inf, s)
    p = xp.exp(s - xp.amax(s, axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    dropped = p * keep * kept
    dp = (d_out @ v.swapaxes(2, 3)) * keep * kept
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    dk, dv = ((x.swapaxes(2, 3) @ y).reshape(case.batch, case.heads_k, group, *k.shape[2:]).sum(axis=2)
              for x, y in ((ds, q * scale), (dropped, d_out)))  # fmt: skip
    return [x.swapaxes(1, 2) for x in (dropped @ v, ds @ k * scale, dk, dv)]


def _on_device_of(tensor, other):
    return other.to(tensor.device) if hasattr(other, "to") else other


def _run_torch(case, device):
    """What attention() gives, the math in fp64 on the CPU, and in fp16 on the device; all as fp64
    on the CPU."""
    import torch

    from .. import _attention, _ops

    generator = torch.Generator().manual_seed(7)
    given = [torch.randn(shape, generator=generator).half() for shape in case.shapes()]
    q, k, v = (x.to(device, copy=True).requires_grad_() for x in given[:3])
    d_out = given[3].to(device)
    out, _, seed = _attention.attend(q, k, v, case.causal, None, case.dropout_p, "applied", None, "fp32",
                                     None)  # fmt: skip
    got = [out, *torch.autograd.grad(out, (q, k, v), d_out)]
    keep = torch.ones((), dtype=torch.float64)
    if case.dropout_p > 0:  # of the emulator, also for cards
        keep = _ops.dropout_keep(*given[:2], seed, case.dropout_p).double()
    exact = math_in_steps(torch, case, *(x.double() for x in given), keep)
    half = math_in_steps(torch, case, *(x.to(device) for x in given), keep.half().to(device))
    return [[x.detach().double().cpu() for x in tensors] for tensors in (got, exact, half)]


def _run_numpy(case, _):
    import numpy

    from .. import host

    generator, seed = numpy.random.default_rng(7), 1234
    q, k, v, d_out = (generator.standard_normal(shape).astype(numpy.float16)
                      for shape in case.shapes())  # fmt: skip
    options = {
        "mask": "causal" if case.causal else "full",
        "dropout_p": case.dropout_p,
        "seed": seed,
    }
    out, lse = host.forward(q, k, v, **options)
    got = [out, *host.backward(d_out, q, k, v, out, lse, **options)]
    keep = numpy.ones((), numpy.float64)
    if case.dropout_p > 0:
        shape = case.batch, case.heads, case.seqlen_q, case.seqlen_k
        keep = host.dropout_mask(*shape, case.dropout_p, seed)[0].astype(numpy.float64)
    exact = math_in_steps(numpy, case, *(x.astype(numpy.float64) for x in (q, k, v, d_out)), keep)
    half = math_in_steps(numpy, case, q, k, v, d_out, keep.astype(numpy.float16))
    return [[x.astype(numpy.float64) for x in arrays] for arrays in (got, exact, half)]
