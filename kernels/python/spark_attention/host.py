"""Attention of NumPy arrays on the emulated V100: for tests, and for other frameworks than PyTorch.

Arrays are fp16, [batch, seqlen, heads, head_dim], and may be strided views. lse is fp32,
[batch, heads, seqlen_q]. Sinks are fp32 [heads], of a key more for each head with the value zero. A
mask is full, causal, window:W, band:L:R, prefix:P or a pattern,
"window:128+causal-strided:128" (kernels/mask/README.md), which is prepared once for its lengths; a
file that it names is read then. Errors: ValueError, UnsupportedError.
"""

import ctypes

import numpy

from . import _arguments, _library, _masks
from ._library import Tensor


def _tensor(array, name):
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}; allowed: an array of NumPy")
    if array.ndim != 4 or array.dtype != numpy.float16:
        raise ValueError(f"{name} is {array.dtype} of {array.ndim} dimensions; allowed: float16 of 4")
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueError(f"{name} has strides of {array.strides} bytes; allowed: multiples of 2")
    strides = [stride // array.itemsize for stride in array.strides]
    if strides[3] != 1 and array.shape[3] != 1:
        raise ValueError(f"{name} has a head_dim with a stride of {strides[3]}; allowed: 1")
    return Tensor(array.ctypes.data, *strides[:3])


def _same_shape(name, array, shape):
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; allowed: {shape}")


def _problem(q, k, mask, dropout_p, seed, scale, accumulator, deterministic=False):
    batch, seqlen_q, heads, head_dim = q.shape
    return _library.problem(
        backend=_library.EMULATED, batch=batch, heads=heads, heads_k=k.shape[2],
        seqlen_q=seqlen_q, seqlen_k=k.shape[1], head_dim=head_dim,
        softmax_scale=_arguments.scale_of(scale), dropout_p=_arguments.dropout_of(dropout_p),
        seed=seed, accumulator=_library.accumulator_of(accumulator),
        deterministic=_arguments.flag_of("deterministic", deterministic),
        **_masks.fields_of(mask, seqlen_q, k.shape[1]),
    )  # fmt: skip


def _check_shapes(q, k, v):
    if k.ndim == 4 and q.ndim == 4:
        _same_shape("k", k, (q.shape[0], k.shape[1], k.shape[2], q.shape[3]))
        if k.shape[2] == 0:  # which the library takes as those of q
            raise ValueError("k has 0 heads; allowed: a divisor of those of q")
    _same_shape("v", v, k.shape)


def _lse(array, shape):
    if not isinstance(array, numpy.ndarray) or array.dtype != numpy.float32 or (
            not array.flags.c_contiguous):  # fmt: skip
        raise ValueError("lse is not a contiguous float32 array")
    _same_shape("lse", array, shape)
    return array.ctypes.data


def _with_sinks(o, lse, sinks):
    """As spark_attention/_sinks.py has it."""
    sinks = _checked_sinks(sinks, o)
    with_sinks = numpy.logaddexp(lse, sinks[:, None])
    with numpy.errstate(invalid="ignore"):
        kept = numpy.where(lse == with_sinks, numpy.float32(1), numpy.exp(lse - with_sinks))
    return (o * kept.swapaxes(1, 2)[..., None]).astype(numpy.float16), with_sinks


def _checked_sinks(sinks, o):
    if not isinstance(sinks, numpy.ndarray) or sinks.dtype != numpy.float32:
        kind = getattr(sinks, "dtype", type(sinks).__name__)
        raise ValueError(f"sinks is {kind}; allowed: an array of float32")
    _same_shape("sinks", sinks, (o.shape[2],))
    return sinks


def forward(q, k, v, *, mask="full", dropout_p=0.0, seed=0, scale=None, accumulator="fp32",
            sinks=None):  # fmt: skip
    """(o, lse), which have the sinks in, if any. Where sums in FP16 do not hold, sums are in FP32."""
    tensors = [_tensor(array, name) for array, name in ((q, "q"), (k, "k"), (v, "v"))]
    _check_shapes(q, k, v)
    _arguments.warn_of_layout(q.shape, k.shape)
    o = numpy.empty(q.shape, numpy.float16)
    lse = numpy.empty((q.shape[0], q.shape[2], q.shape[1]), numpy.float32)
    structs = _library.ForwardTensors(*tensors, _tensor(o, "o"), lse.ctypes.data)

    def run(accumulator):
        problem = _problem(q, k, mask, dropout_p, seed, scale, accumulator)
        _library.forward(problem, ctypes.byref(structs))

    run(accumulator)
    if accumulator != "fp32" and not (numpy.isfinite(o).all() and numpy.isfinite(lse).all()):
        in_fp16, are_finite = (o.copy(), lse.copy()), numpy.isfinite(lse)
        run("fp32")
        if numpy.isfinite(in_fp16[0]).all() and (numpy.isfinite(lse) == are_finite).all():
            o, lse = in_fp16  # rows see no key
    return (o, lse) if sinks is None else _with_sinks(o, lse, sinks)


def sink_gradient(d_o, o, lse, sinks):
    """d_sinks of sum(o * d_o), where o and lse are forward()'s with the same sinks."""
    sinks = _checked_sinks(sinks, o)
    for array, name in ((d_o, "d_o"), (o, "o")):
        _tensor(array, name)
    _same_shape("d_o", d_o, o.shape)
    _lse(lse, (o.shape[0], o.shape[2], o.shape[1]))
    delta = numpy.einsum("bshd,bshd->bhs", d_o.astype(numpy.float32), o.astype(numpy.float32))
    with numpy.errstate(invalid="ignore"):
        weight = numpy.where(sinks[:, None] == -numpy.inf, 0, numpy.exp(sinks[:, None] - lse))
    return -(weight * delta).sum((0, 2), dtype=numpy.float32)


def backward(d_o, q, k, v, o, lse, *, mask="full", dropout_p=0.0, seed=0, scale=None,
             accumulator="fp32", deterministic=True):  # fmt: skip
    """(dq, dk, dv) of sum(o * d_o); o and lse are the forward pass's, with the sinks if it had any."""
    named = ((q, "q"), (k, "k"), (v, "v"), (o, "o"), (d_o, "d_o"))
    tensors = [_tensor(array, name) for array, name in named]
    _check_shapes(q, k, v)
    _same_shape("o", o, q.shape)
    _same_shape("d_o", d_o, q.shape)
    lse_data = _lse(lse, (q.shape[0], q.shape[2], q.shape[1]))
    gradients = [numpy.empty(array.shape, numpy.float16) for array in (q, k, v)]
    outputs = [_tensor(array, name) for array, name in zip(gradients, ("dq", "dk", "dv"))]
    structs = _library.BackwardTensors(*tensors, lse_data, *outputs)

    def run(accumulator):
        problem = _problem(q, k, mask, dropout_p, seed, scale, accumulator, deterministic)
        _library.backward(problem, ctypes.byref(structs))

    run(accumulator)
    lowest = _masks.lowest_lse(scale, *k.shape[1:4:2])
    if accumulator != "fp32" and not (all(numpy.isfinite(array).all() for array in gradients)
                                      and (lse >= lowest).all()):  # fmt: skip
        run("fp32")
    return tuple(gradients)


def supports(q, k, v, *, mask="full", dropout_p=0.0, scale=None, accumulator="fp32"):
    """(True, "") where forward() and backward() would run, else (False, the reason)."""
    try:
        for array, name in ((q, "q"), (k, "k"), (v, "v")):
            _tensor(array, name)
        _check_shapes(q, k, v)
        problem = _problem(q, k, mask, dropout_p, 0, scale, accumulator)
    except (TypeError, ValueError) as error:
        return False, str(error)
    reason = _library.why_unsupported_passes(problem)
    return reason is None, reason or ""


def dropout_mask(batch, heads, seqlen_q, seqlen_k, dropout_p, seed, offset=0, *, mask="full"):
    """(keep, scale): a boolean [batch, heads, seqlen_q, seqlen_k], and what kept elements are
    multiplied by. The same of every kernel and device. Where `mask` strides the elements that it
    shows have another dropout than without it. A seed that lies in memory, as in CUDA graphs and in
    JAX, is the offset of the seed 0."""
    words = ctypes.c_uint64(offset)
    keep = numpy.empty((batch, heads, seqlen_q, seqlen_k), numpy.uint8)
    problem = _library.problem(
        backend=_library.EMULATED, batch=batch, heads=heads, seqlen_q=seqlen_q, seqlen_k=seqlen_k,
        head_dim=64, dropout_p=_arguments.dropout_of(dropout_p), seed=seed,
        dropout_offset=ctypes.addressof(words),
        **_masks.fields_of(mask, seqlen_q, seqlen_k),
    )  # fmt: skip
    scale = _library.dropout_mask(problem, keep.ctypes.data)
    return keep.astype(bool), scale
