"""The way of eager calls from attention() to the library. It computes what the operators do, with the
same code behind, but without PyTorch's dispatcher in between: through Python that takes longer than a
kernel of a short sequence. What a call has in common with others of its shapes is kept.
"""

import ctypes

import torch

from . import _ledger, _library, _ops

# The structs of tensors as arrays of their words: an address and three strides a tensor, and lse.
_ForwardWords = ctypes.c_int64 * (ctypes.sizeof(_library.ForwardTensors) // 8)
_BackwardWords = ctypes.c_int64 * (ctypes.sizeof(_library.BackwardTensors) // 8)


def is_open(q, k, v):
    """Whether nobody would notice: no compiler, no mode and no subclass of PyTorch's sees the
    operators, and autocast has nothing to cast."""
    if torch.compiler.is_compiling() or not _HAS_PROBES:
        return False
    if not (type(q) in _PLAIN and type(k) in _PLAIN and type(v) in _PLAIN):
        return False
    return not (
        torch._C._len_torch_dispatch_stack()
        or torch._C._is_torch_function_mode_enabled()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch.is_autocast_enabled(q.device.type)
        or torch.jit.is_tracing()
    )


def attend(q, k, v, seed, options):
    """(out, lse), as torch.ops.spark.forward; `options` are its others, in their order. The seed is a
    number, a tensor on the GPU, or none."""
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return _Attention.apply(q, k, v, seed, options)
    return _forward(q, k, v, seed, options)


_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Names that PyTorch does not promise; calls go through the operators where one is missing.
_HAS_PROBES = (
    hasattr(torch._C, "_len_torch_dispatch_stack")
    and hasattr(torch._C, "_is_torch_function_mode_enabled")
    and hasattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack")
)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, seed, options):
        out, lse = _forward(q, k, v, seed, options)
        ctx.options = options
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(lse)
        is_number = isinstance(seed, int)
        ctx.number = seed if is_number else None
        ctx.save_for_backward(q, k, v, out, lse, None if is_number else seed)
        return out, lse

    @staticmethod
    def backward(ctx, d_out, _):
        if d_out is None:
            return None, None, None, None, None
        q, k, v, out, lse, seed = ctx.saved_tensors
        seed = ctx.number if seed is None else seed
        if torch.is_grad_enabled() or not is_open(q, k, v) or type(d_out) is not torch.Tensor:
            run = torch.ops.spark.backward.default
            return (*run(d_out, q, k, v, out, lse, _as_tensor(seed), *ctx.options), None, None)
        return (*_backward(d_out, q, k, v, out, lse, seed, ctx.options), None, None)


class _Plan:
    """Calls of the same shapes, strides and options: the problem, and where the tensors lie but for
    their addresses. `words` is None where a tensor has to be copied first, or nothing is to be done."""

    def __init__(self, tensors, options):
        q, k, v, *_ = tensors
        _ops.check_tensors(q, k, v)
        dropout_p, *others = options
        self.problem = _ops.problem_of(q, k, None, dropout_p, *others)
        self.lse_shape = (q.shape[0], q.shape[2], q.shape[1])
        has_work = q.numel() > 0 and k.numel() > 0
        self.words = _words(tensors) if has_work and all(map(_ops.has_rows, tensors)) else None
        self.of_pass = _library.FORWARD if len(tensors) == 3 else _library.BACKWARD
        # Refusals come from here.
        self.workspace_bytes = _library.workspace_bytes(self.problem, self.of_pass) if has_work else 0

    def of_seed(self, seed):
        """A problem of its own, so that threads do not meet in one."""
        if seed is None:
            return self.problem
        problem = _library.Problem.from_buffer_copy(self.problem)
        if isinstance(seed, int):
            problem.seed = seed
        else:
            problem.dropout_offset = seed.data_ptr()
        return problem


def _strides_of_contiguous(tensor):
    _, seqlen, heads, head_dim = tensor.shape
    return [seqlen * heads * head_dim, heads * head_dim, head_dim]


def _words(tensors):
    """The struct of a pass with zeros for addresses; outputs are contiguous."""
    inputs = [[0, *tensor.stride()[:3]] for tensor in tensors]
    if len(tensors) == 3:
        return sum([*inputs, [0, *_strides_of_contiguous(tensors[0])], [0]], [])
    outputs = [[0, *_strides_of_contiguous(tensor)] for tensor in tensors[:3]]
    return sum([*inputs, [0], *outputs], [])


class _Plans:
    """By shapes, strides, types and options. Cleared when it grows, as lengths that vary make it."""

    def __init__(self):
        self.known = {}

    def of(self, tensors, options):
        q = tensors[0]
        key = (q.device, options, *[(t.shape, t.stride(), t.dtype) for t in tensors])
        plan = self.known.get(key)
        if plan is None:
            if any(t.device != q.device for t in tensors):
                _ops.check_tensors(*tensors[:3])
            if len(self.known) >= 4096:
                self.known.clear()
            plan = self.known[key] = _Plan(tensors, options)
        return plan


_plans = _Plans()


def _as_tensor(seed):
    return torch.tensor(seed, dtype=torch.int64) if isinstance(seed, int) else seed


def _stream(tensor):
    if not tensor.is_cuda:
        return None
    return torch._C._cuda_getCurrentRawStream(tensor.device.index)


def _forward(q, k, v, seed, options):
    tensors = (q, k, v)
    plan = _plans.of(tensors, options)
    addresses = [tensor.data_ptr() for tensor in tensors]
    if plan.words is None or any(address % 16 for address in addresses):
        return _ops._forward(q, k, v, _as_tensor(seed), *options)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(plan.lse_shape, dtype=torch.float32, device=q.device)
    words = _ForwardWords(*plan.words)
    words[0], words[4], words[8] = addresses
    words[12], words[16] = out.data_ptr(), lse.data_ptr()
    _library.forward(plan.of_seed(seed), ctypes.byref(words), _stream(q))
    _ledger.note_run("forward", q, plan.problem.accumulator)
    return out, lse


def _backward(d_out, q, k, v, out, lse, seed, options):
    tensors = (q, k, v, out, d_out)
    plan = _plans.of(tensors, options)
    addresses = [tensor.data_ptr() for tensor in tensors]
    if plan.words is None or any(address % 16 for address in addresses):
        return _ops._backward(d_out, q, k, v, out, lse, _as_tensor(seed), *options)
    gradients = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v)]
    workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=q.device)
    words = _BackwardWords(*plan.words)
    for i, address in enumerate(addresses):
        words[4 * i] = address
    words[20] = lse.data_ptr()
    for i, gradient in enumerate(gradients):
        words[21 + 4 * i] = gradient.data_ptr()
    _library.backward(plan.of_seed(seed), ctypes.byref(words), workspace.data_ptr() or None,
                      plan.workspace_bytes, _stream(q))  # fmt: skip
    _ledger.note_run("backward", q, plan.problem.accumulator)
    return gradients
