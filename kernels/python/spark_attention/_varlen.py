"""attention_varlen() and its operators, for sequences of any lengths, one behind the other.

    varlen_forward(q, k, v, cu_seqlens_q, cu_seqlens_k, seed?, ..., sinks?) -> (out, lse)
    varlen_backward(d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, seed?, ...) -> (dq, dk, dv)

Tensors are as those of _ops.py, without the batch: [total, heads, head_dim], and lse is [heads,
total_q].
"""

import ctypes

import torch

from . import _arguments, _bf16, _fp16_sums, _ledger, _library, _ops, _options, _sinks, _transforms

_OF_ALL = _ops.OF_ALL
_QKV = "Tensor q, Tensor k, Tensor v"
_LENGTHS = "Tensor cu_seqlens_q, Tensor cu_seqlens_k"

_ops.library.define(
    f"varlen_forward({_QKV}, {_LENGTHS}, Tensor? seed, {_ops.OF_FORWARD}) -> (Tensor, Tensor)"
)
_ops.library.define(
    f"varlen_backward(Tensor d_out, {_QKV}, Tensor out, Tensor lse, {_LENGTHS}, Tensor? seed, "
    f"{_OF_ALL}) -> (Tensor, Tensor, Tensor)"
)


def check(q, k, v, cu_seqlens_q, cu_seqlens_k, *dtype_of):
    _ops.require_tensors(q=q, k=k, v=v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 3:
            raise ValueError(f"{name} has {tensor.dim()} dimensions; allowed: 3, [total, heads, "
                             "head_dim]")  # fmt: skip
    _ops.check_tensors(*_with_batch(q, k, v), *dtype_of)
    for name, lengths in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if lengths.dtype != torch.int32 or lengths.dim() != 1 or lengths.shape[0] == 0:
            raise ValueError(f"{name} is {str(lengths.dtype).removeprefix('torch.')} of shape "
                             f"{tuple(lengths.shape)}; allowed: int32 of [sequences + 1]")  # fmt: skip
        if lengths.device != q.device:
            raise ValueError(f"{name} is on {lengths.device}, and q on {q.device}")
    if cu_seqlens_q.shape != cu_seqlens_k.shape:
        raise ValueError(f"cu_seqlens_k has {cu_seqlens_k.shape[0]} entries, and cu_seqlens_q "
                         f"{cu_seqlens_q.shape[0]}: they are equal")  # fmt: skip


def _with_batch(*tensors):
    return [tensor.unsqueeze(0) for tensor in tensors]


class _Call:
    """A problem of the library's, with the arrays and the workspace that a pass of it takes."""

    def __init__(self, of_pass, q, k, cu_seqlens_q, cu_seqlens_k, seed, options):
        self.problem = _ops.problem_of(q, k, seed, *options, sequences=cu_seqlens_q.shape[0] - 1)
        self.lengths = [lengths.contiguous() for lengths in (cu_seqlens_q, cu_seqlens_k)]
        self.byte_count = _library.varlen_workspace_bytes(self.problem, of_pass)
        self.workspace = torch.empty(self.byte_count, dtype=torch.uint8, device=q.device)
        self.q = q

    def arguments(self, tensors):
        return (self.problem, *(lengths.data_ptr() for lengths in self.lengths),
                ctypes.byref(tensors), self.workspace.data_ptr() or None, self.byte_count,
                _ops.stream_of(self.q))  # fmt: skip


def _forward(q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *others):
    options, sinks = _ops.split(others)
    _transforms.refuse_tangents(q, k, v, sinks)
    _sinks.check(sinks, q)
    found = without_sinks(q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *options)
    return _sinks.applied(*found, sinks)


def without_sinks(q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *options):
    """(out, lse), below autograd."""
    check(q, k, v, cu_seqlens_q, cu_seqlens_k)
    _ops.check_seed(seed, options[0], q.device)
    inputs = q, k, v, cu_seqlens_q, cu_seqlens_k, seed
    found = _run_forward(*inputs, *options)
    if options[-2] == "fp32" or q.numel() == 0:
        return found
    rows = _fp16_sums.PackedRows(options[3], q.shape[1], cu_seqlens_q, cu_seqlens_k)
    return _fp16_sums.checked_forward(
        found, rows, lambda: _run_forward(*inputs, *_ops.in_fp32(options)))  # fmt: skip


def _run_forward(q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *options):
    if options[-2] != "fp32":
        _fp16_sums.prepare(q.device)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((q.shape[1], q.shape[0]), dtype=torch.float32, device=q.device)
    if q.numel() == 0:
        return out, lse
    q, k, v = (_ops.readable(tensor) for tensor in _with_batch(q, k, v))
    call = _Call(_library.FORWARD, q, k, cu_seqlens_q, cu_seqlens_k, seed, options)
    tensors = _library.ForwardTensors(*map(_ops.struct_of, (q, k, v, out.unsqueeze(0))),
                                      lse.data_ptr())  # fmt: skip
    _library.varlen_forward(*call.arguments(tensors))
    _ledger.note_run("varlen forward", q, call.problem)
    return out, lse


def _backward(d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, seed, *options):
    _transforms.refuse_tangents(d_out, q, k, v, out, lse)
    check(q, k, v, cu_seqlens_q, cu_seqlens_k)
    _ops.check_saved(d_out, q, out, lse)
    _ops.check_seed(seed, options[0], q.device)
    inputs = d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, seed
    gradients = _run_backward(*inputs, *options)
    if options[-2] == "fp32" or q.numel() == 0 or k.numel() == 0:
        return gradients
    return _fp16_sums.checked_backward(
        gradients, lse, options[2], k, lambda: _run_backward(*inputs, *_ops.in_fp32(options)),
    )  # fmt: skip


def _run_backward(d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, seed, *options):
    gradients = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v)]
    if q.numel() == 0 and k.numel() == 0:
        return tuple(gradients)
    inputs = [_ops.readable(tensor) for tensor in _with_batch(q, k, v, out, d_out)]
    lse = lse.contiguous()
    call = _Call(_library.BACKWARD, *inputs[:2], cu_seqlens_q, cu_seqlens_k, seed, options)
    tensors = _library.BackwardTensors(*map(_ops.struct_of, inputs), lse.data_ptr(),
                                       *map(_ops.struct_of, _with_batch(*gradients)))  # fmt: skip
    _library.varlen_backward(*call.arguments(tensors))
    _ledger.note_run("varlen backward", q, call.problem)
    return tuple(gradients)


def _fake_forward(q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *others):
    check(q, k, v, cu_seqlens_q, cu_seqlens_k)
    _sinks.check(_ops.split(others)[1], q)
    lse_shape = (q.shape[1], q.shape[0])
    return q.new_empty(q.shape), q.new_empty(lse_shape, dtype=torch.float32)


def _fake_backward(d_out, q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k, *_):
    check(q, k, v, cu_seqlens_q, cu_seqlens_k)
    _ops.check_saved(d_out, q, out, lse)
    return tuple(tensor.new_empty(tensor.shape) for tensor in (q, k, v))


for _key in ("CPU", "CUDA"):
    _ops.library.impl("varlen_forward", _forward, _key)
    _ops.library.impl("varlen_backward", _backward, _key)
torch.library.register_fake("spark::varlen_forward", _fake_forward, lib=_ops.library)
torch.library.register_fake("spark::varlen_backward", _fake_backward, lib=_ops.library)


def _setup_context(ctx, inputs, output):
    q, k, v, cu_seqlens_q, cu_seqlens_k, seed, *ctx.options, sinks = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output, cu_seqlens_q, cu_seqlens_k, seed, sinks)


def _autograd(ctx, d_out, _):
    nothing = (None,) * (3 + len(ctx.options))
    if d_out is None:
        return (None, None, None, *nothing, None)
    *saved, sinks = ctx.saved_tensors
    gradients = torch.ops.spark.varlen_backward.default(d_out, *saved, *ctx.options)
    out, lse = saved[3:5]
    return (*gradients, *nothing, _ops.gradient_of_sinks(ctx, d_out, out, lse, sinks))


_transforms.register(_ops.library, "varlen_forward", _autograd, _setup_context)
_transforms.register(_ops.library, "varlen_backward")


def _autocast_forward(q, k, v, *others):
    return _ops.in_fp16(torch.ops.spark.varlen_forward.default, q, k, v, *others)


for _key in ("AutocastCPU", "AutocastCUDA"):
    _ops.library.impl("varlen_forward", _autocast_forward, _key)


def attention_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, *, causal=False, mask=None, dropout_p=0.0,
                     scale=None, accumulator="fp32", deterministic=None, return_lse=False,
                     dropout_scale="applied", bf16="refuse", sinks=None, **unknown):  # fmt: skip
    """attention() of sequences of any lengths, one behind the other; differentiable in q, k, v and sinks.

    q is [total_q, heads, head_dim], k and v [total_k, heads_k, head_dim]. Sequence i has rows
    cu_seqlens_q[i] to below cu_seqlens_q[i + 1], and such keys: int32 tensors on the same device,
    which the host never reads; the CPU, which does, refuses offsets that fall or do not end at the
    total. A sequence may be empty on either side: rows without keys give zeros. Masks and dropout
    are of each sequence. lse is [heads, total_q]. All else is as in attention().
    """
    if unknown:
        _arguments.refuse_unknown("attention_varlen", unknown, _options.NAMES)
    _ops.require_tensors(q=q, k=k, v=v)
    return _bf16.around(bf16, return_lse, q, k, v, lambda *tensors: attend_varlen(
        *tensors, cu_seqlens_q, cu_seqlens_k, causal, mask, dropout_p, dropout_scale, scale,
        accumulator, deterministic, sinks=sinks))  # fmt: skip


def attend_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, *asked, sinks=None):
    """(out, lse, seed), as attend()."""
    _ops.require_tensors(cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    options = _options.options_of(*asked)
    _sinks.check(sinks, q)
    _transforms.refuse_tangents(q, k, v, sinks)
    seed = _ops.draw_seed(q) if options[0] > 0 else None
    out, lse = torch.ops.spark.varlen_forward.default(q, k, v, cu_seqlens_q, cu_seqlens_k, seed,
                                                      *options, sinks)  # fmt: skip
    return out, lse, seed
