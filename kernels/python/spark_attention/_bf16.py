"""The checked cast of bfloat16, which a V100 does not have: to fp16 and back, in both passes, counting
what fp16 cannot hold. The counts lie beside the tensors and nothing waits for them.

    half_of_bf16(x) -> fp16         counts; its gradient is bf16_of_half's value
    bf16_of_half(x) -> bfloat16     loses no range; its gradient is half_of_bf16's value, so counted
"""

import collections

import torch

from . import _ledger, _library, _ops

CHOICES = ("refuse", "cast")

Bf16Counts = collections.namedtuple("Bf16Counts", "cast overflowed underflowed")

_counters = {}  # by device: an int64 tensor there, as Bf16Counts


@torch.compiler.assume_constant_result
def _prepare(kind, index):
    """Makes the device's counter, before a CUDA graph would. Compiled code does so as it is traced."""
    device = torch.device(kind, index)
    if device not in _counters:
        if kind == "cuda" and torch.cuda.is_current_stream_capturing():
            raise _library.UnsupportedError("bf16='cast' runs in a CUDA graph for the first time: call "
                                            "it once before the capture")  # fmt: skip
        _counters[device] = torch.zeros(3, dtype=torch.int64, device=device)
    return True


def check(bf16):
    if bf16 not in CHOICES:
        raise ValueError(f"bf16 is {bf16!r}; allowed: {', '.join(CHOICES)}")


def is_wanted(bf16, q):
    """Whether the checked cast was asked for, and q is what it casts."""
    check(bf16)
    return q.dtype == torch.bfloat16


def counts(*, clear=False):
    """How many numbers were cast from bfloat16 to fp16 on all devices, since the start or since it was
    cleared; how many of them were finite and became infinite; and how many were not zero and became
    so. Waits for the GPU. A few of the last are gradients' usual fate; if they are many, a gradient
    scaler helps. Any of the second make NaNs: the model wants fp32 or smaller activations."""
    found = [counter.tolist() for counter in _counters.values()]
    if clear:
        for counter in _counters.values():
            counter.zero_()
    return Bf16Counts(*map(sum, zip([0, 0, 0], *found)))


def halved(q, k, v):
    """Those of them that are bfloat16, in fp16."""
    if not torch.compiler.is_compiling():
        _ledger.note("cast bfloat16 to float16 and back: sa.bf16_counts() tells what that lost")
    return [_half_of(tensor) if tensor.dtype == torch.bfloat16 else tensor for tensor in (q, k, v)]


def _half_of(tensor):
    if tensor.device.type in ("cpu", "cuda"):
        _prepare(tensor.device.type, tensor.device.index)
    return torch.ops.spark.half_of_bf16.default(tensor)


def restored(out):
    return torch.ops.spark.bf16_of_half.default(out)


def _half_of_bf16(x):
    half = x.to(torch.float16, memory_format=torch.contiguous_format)
    lost = [torch.count_nonzero(half.isinf()) - torch.count_nonzero(x.isinf()),
            torch.count_nonzero(x) - torch.count_nonzero(half)]  # fmt: skip
    _prepare(x.device.type, x.device.index)
    counter = _counters[x.device]
    counter[0] += x.numel()
    counter[1:] += torch.stack(lost)
    return half


def _bf16_of_half(x):
    return x.to(torch.bfloat16, memory_format=torch.contiguous_format)


def _fake(dtype):
    return lambda x: torch.empty(x.shape, dtype=dtype, device=x.device)


for _name, _function, _dtype in (
    ("half_of_bf16", _half_of_bf16, torch.float16),
    ("bf16_of_half", _bf16_of_half, torch.bfloat16),
):
    _ops.library.define(f"{_name}(Tensor x) -> Tensor")
    for _key in ("CPU", "CUDA"):
        _ops.library.impl(_name, _function, _key)
    torch.library.register_fake(f"spark::{_name}", _fake(_dtype), lib=_ops.library)


def _register_gradient(name, gradient):
    torch.library.register_autograd(
        f"spark::{name}", lambda ctx, d: gradient(d), setup_context=lambda *_, **__: None,
        lib=_ops.library,
    )  # fmt: skip


_register_gradient("half_of_bf16", restored)
_register_gradient("bf16_of_half", lambda d: torch.ops.spark.half_of_bf16.default(d))
