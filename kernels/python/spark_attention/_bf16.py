"""The checked cast of bfloat16, which a V100 does not have: to fp16 and back, in both passes, counting
what fp16 cannot hold. The counts lie beside the tensors and nothing waits for them.

    half_of_bf16(x) -> fp16         counts; its gradient is bf16_of_half's value
    bf16_of_half(x) -> bfloat16     loses no range; its gradient is half_of_bf16's value, so counted
"""

import collections

import torch

from . import _ledger, _library, _ops, _transforms

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


def around(bf16, return_lse, q, k, v, attend):
    """What attention() and attention_varlen() give: attend(q, k, v) is (out, lse, seed), and the checked
    cast is around it where it was asked for and a tensor is bfloat16, or becomes that by autocast."""
    check(bf16)
    is_cast = False
    if bf16 == "cast":
        q, k, v = (_by_autocast(tensor) for tensor in (q, k, v))
        is_cast = torch.bfloat16 in (q.dtype, k.dtype, v.dtype)
    if is_cast:
        q, k, v = halved(q, k, v)
    out, lse, _ = attend(q, k, v)
    if is_cast:
        out = restored(out)
    return (out, lse) if return_lse else out


def _by_autocast(tensor):
    device = tensor.device.type
    if (tensor.dtype == torch.float32 and torch.is_autocast_enabled(device)
            and torch.get_autocast_dtype(device) == torch.bfloat16):  # fmt: skip
        return tensor.bfloat16()
    return tensor


def counts(*, reset=False):
    """How many numbers were cast from bfloat16 to fp16 on all devices, since the start or since it was
    reset; how many of them were finite and became infinite; and how many were not zero and became
    so. Waits for the GPU. A few of the last are gradients' usual fate; if they are many, a gradient
    scaler helps. Any of the second make NaNs: the model wants fp32 or smaller activations."""
    found = [counter.tolist() for counter in _counters.values()]
    if reset:
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
    _require("half_of_bf16", x, torch.bfloat16)
    half = x.to(torch.float16, memory_format=torch.contiguous_format)
    lost = [torch.count_nonzero(half.isinf()) - torch.count_nonzero(x.isinf()),
            torch.count_nonzero(x) - torch.count_nonzero(half)]  # fmt: skip
    _prepare(x.device.type, x.device.index)
    counter = _counters[x.device]
    counter[0] += x.numel()
    counter[1:] += torch.stack(lost)
    return half


def _require(name, x, dtype):
    _transforms.refuse_tangents(x)
    if x.dtype != dtype:
        raise TypeError(f"x of {name} is {x.dtype}; allowed: {dtype}")


def _bf16_of_half(x):
    _require("bf16_of_half", x, torch.float16)
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


_transforms.register(_ops.library, "half_of_bf16", lambda ctx, d: restored(d))
_transforms.register(
    _ops.library, "bf16_of_half", lambda ctx, d: torch.ops.spark.half_of_bf16.default(d)
)
