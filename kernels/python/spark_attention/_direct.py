"""The path of eager calls from attention() to the library. It computes what the operators do, by the
same code, but without PyTorch's dispatcher, which through Python takes longer than the kernel of a
short sequence. What calls with the same shapes have in common is cached.
"""

import collections
import ctypes

import torch
from torch.autograd import forward_ad

from . import _fp16_sums, _ledger, _library, _masks, _ops, _options, _sinks, _transforms

_Tensor, _Parameter, _half = torch.Tensor, torch.nn.Parameter, torch.float16
_float, _empty, _is_grad_enabled = torch.float32, torch.empty, torch.is_grad_enabled
# Names that PyTorch does not promise; calls go through the operators where one is missing.
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
_is_function_mode = getattr(torch._C, "_is_torch_function_mode_enabled", None)
_tracing = getattr(torch._C, "_get_tracing_state", None)
_HAS_PROBES = bool(_modes and _is_function_mode and _transforms._functorch and _tracing)


def _is_plain(tensor):
    kind = type(tensor)
    return (kind is _Tensor or kind is _Parameter) and tensor.dtype is _half


def is_open(q, k, v, sinks=None):
    """Whether nobody would notice: no compiler, no mode and no subclass of PyTorch's sees the
    operators, and autocast has nothing to cast, as all is fp16 (but for sinks, which it leaves)."""
    if torch.compiler.is_compiling() or not _HAS_PROBES:
        return False
    if sinks is not None and type(sinks) is not _Tensor and type(sinks) is not _Parameter:
        return False
    return (_is_plain(q) and _is_plain(k) and _is_plain(v) and not _modes()
            and not _is_function_mode() and _transforms.active() is None and _tracing() is None
            and forward_ad._current_level < 0)  # fmt: skip


def attend(q, k, v, asked, sinks=None):
    """(out, lse, seed), as torch.ops.spark.forward of what is_open(); `asked` are the arguments of
    options_of(), and do not leave it to PyTorch's flag whether bits repeat. The seed is a number, a
    tensor on the GPU, or none."""
    plan = _plan_of(q, k, v, asked)
    if plan is None:  # on another device than these kernels': the dispatcher tells
        options = _options.options_of(*asked)
        seed = _ops.draw_seed(q) if options[0] > 0 else None
        return (*torch.ops.spark.forward.default(q, k, v, seed, *options, sinks), seed)
    seed = _ops.draw_number(q) if plan.drops else None
    if _is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad
                               or sinks is not None and sinks.requires_grad):  # fmt: skip
        plan.require_backward()
        out, lse = _Attention.apply(q, k, v, sinks, seed, plan)
    else:
        out, lse = _sinks.applied(*_forward(plan, q, k, v, seed), sinks)
    return out, lse, seed


def forward(q, k, v, seed, asked):
    """(out, lse) of a seed, below autograd."""
    return _forward(_plan_of(q, k, v, asked), q, k, v, seed)


def backward(d_out, q, k, v, out, lse, seed, asked):
    """(dq, dk, dv), below autograd; lse is contiguous."""
    return _backward(_plan_of(q, k, v, asked), d_out, q, k, v, out, lse, seed)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, sinks, seed, plan):
        out, lse = _sinks.applied(*_forward(plan, q, k, v, seed), sinks)
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(lse)
        is_tensor = isinstance(seed, torch.Tensor)
        ctx.number = None if is_tensor else seed
        ctx.save_for_backward(q, k, v, out, lse, seed if is_tensor else None, sinks)
        return out, lse

    @staticmethod
    def backward(ctx, d_out, _):
        if d_out is None:
            return None, None, None, None, None, None
        q, k, v, out, lse, seed, sinks = ctx.saved_tensors
        seed = ctx.number if seed is None else seed
        is_bare = not _is_grad_enabled() and is_open(q, k, v, sinks) and _is_plain(d_out)
        if is_bare and _is_plain(out):
            gradients = _backward(ctx.plan, d_out, q, k, v, out, lse, seed)
        else:
            run = torch.ops.spark.backward.default
            gradients = run(d_out, q, k, v, out, lse, _as_tensor(seed), *ctx.plan.options)
        d_sinks = None
        if ctx.needs_input_grad[3]:
            d_sinks = torch.ops.spark.sink_gradient.default(d_out, out, lse, sinks)
        return (*gradients, d_sinks, None, None)


class _Call:
    """The structs of one call. Calls that end give it back, so that threads do not meet in one."""

    __slots__ = ("problem", "words", "by_problem", "by_words")

    def __init__(self, problem, words):
        self.problem = _library.Problem.from_buffer_copy(problem)
        self.words = (ctypes.c_int64 * len(words))(*words)
        self.by_problem, self.by_words = ctypes.byref(self.problem), ctypes.byref(self.words)

    def set_seed(self, seed):
        if isinstance(seed, int):
            self.problem.seed, self.problem.dropout_offset = seed, None
        elif seed.is_cuda:
            self.problem.seed, self.problem.dropout_offset = 0, seed.data_ptr()
        else:
            self.problem.seed, self.problem.dropout_offset = seed.item(), None


class _Pass:
    """A pass of the same shapes, strides and options: its calls but for addresses and seeds. `words`
    is None where a tensor has to be copied first, or nothing is to be done."""

    def __init__(self, name, of_pass, problem, inputs, outputs, is_worth):
        self.problem, self.idle = problem, []
        self.workspace_bytes = _library.workspace_bytes(problem, of_pass) if is_worth else 0
        self.words = None
        if is_worth and all(map(_ops.has_rows, inputs)):
            given = [[0, *tensor.stride()[:3]] for tensor in inputs]
            made = [[0, *_strides_of_contiguous(tensor)] for tensor in outputs]
            lse = [[0]]
            parts = [*given, *made, *lse] if name == "forward" else [*given, *lse, *made]
            self.words = [word for part in parts for word in part]
        self.runs = _ledger.cell_of(name, inputs[0], problem)

    def begin(self, seed):
        try:
            call = self.idle.pop()
        except IndexError:
            call = _Call(self.problem, self.words)
        if seed is not None:
            call.set_seed(seed)
        return call

    def end(self, call):
        self.idle.append(call)
        self.runs[0] += 1


class _Plan:
    """Calls of the same shapes, strides and options."""

    def __init__(self, q, k, v, asked):
        _ops.check_tensors(q, k, v)
        self.options = _options.options_of(*asked)
        dropout_p, *_, self.accumulator, _ = self.options
        self.drops = dropout_p > 0
        self.problem = _ops.problem_of(q, k, None, *self.options)
        self.device, self.stream_of = q.device, _ops.raw_stream_of(q.device)
        self.shape, self.lse_shape = tuple(q.shape), (q.shape[0], q.shape[2], q.shape[1])
        self.is_worth = q.numel() > 0 and k.numel() > 0
        if self.accumulator != "fp32":
            _fp16_sums.prepare(q.device)
        # Refusals come from here.
        self.forward = _Pass("forward", _library.FORWARD, self.problem, (q, k, v), (q,),
                             self.is_worth)  # fmt: skip
        self.backwards, self.has_backward = {}, False

    def require_backward(self):
        """Raises the reason why there would be no gradients, before the forward pass."""
        if self.has_backward:
            return
        if self.is_worth:
            _library.require(self.problem, _library.BACKWARD)
        self.has_backward = True

    def backward(self, inputs):
        """Of q, k, v, out and d_out, which autograd may give back with other strides."""
        key = tuple([tensor.stride() for tensor in inputs])
        known = self.backwards.get(key)
        if known is None:
            known = self.backwards[key] = _Pass("backward", _library.BACKWARD, self.problem, inputs,
                                                inputs[:3], self.is_worth)  # fmt: skip
        return known


def _strides_of_contiguous(tensor):
    _, seqlen, heads, head_dim = tensor.shape
    return [seqlen * heads * head_dim, heads * head_dim, head_dim]


_plans = {}
_of_patterns = collections.deque()  # keys of plans that hold a prepared mask, the oldest first


def _plan_of(q, k, v, asked):
    """None on a device that the kernels do not know."""
    key = (q.shape, q.stride(), q.device, k.shape, k.stride(), k.device, v.shape, v.stride(),
           v.device, asked)  # fmt: skip
    if type(asked[1]) is str and "zones:" in asked[1]:
        key = (*key, _masks.of_file(asked[1]))
    plan = _plans.get(key)
    if plan is None and q.device.type in ("cpu", "cuda"):
        plan = _Plan(q, k, v, asked)
        if len(_plans) >= 4096:  # as lengths that vary make it
            _plans.clear()
        _plans[key] = plan
        if plan.problem.prepared:
            _of_patterns.append(key)
            while len(_of_patterns) > _masks.MOST:  # a mask lives as long as a plan holds it
                _plans.pop(_of_patterns.popleft(), None)
    return plan


def _as_tensor(seed):
    return torch.tensor(seed, dtype=torch.int64) if isinstance(seed, int) else seed


def _forward(plan, q, k, v, seed):
    of = plan.forward
    at_q, at_k, at_v = q.data_ptr(), k.data_ptr(), v.data_ptr()
    if of.words is None or (at_q | at_k | at_v) & 15:
        return _ops.without_sinks(q, k, v, _as_tensor(seed), *plan.options)
    out = _empty(plan.shape, dtype=_half, device=plan.device)
    lse = _empty(plan.lse_shape, dtype=_float, device=plan.device)
    call = of.begin(seed)
    words = call.words
    words[0], words[4], words[8] = at_q, at_k, at_v
    words[12], words[16] = out.data_ptr(), lse.data_ptr()
    # Only patterns with strides take one.
    workspace = (_empty(of.workspace_bytes, dtype=torch.uint8, device=plan.device)
                 if of.workspace_bytes else None)  # fmt: skip
    if plan.problem.prepared:
        _ops.keep_captured(plan.problem, q)
    _library.forward(call.by_problem, call.by_words,
                     None if workspace is None else workspace.data_ptr(), of.workspace_bytes,
                     plan.stream_of())  # fmt: skip
    of.end(call)
    if plan.accumulator != "fp32":
        return _ops.checked_forward((out, lse), q, k, v, _as_tensor(seed), plan.options)
    return out, lse


def _backward(plan, d_out, q, k, v, out, lse, seed):
    inputs = (q, k, v, out, d_out)
    of = plan.backward(inputs)
    addresses = [tensor.data_ptr() for tensor in inputs]
    if of.words is None or any([address & 15 for address in addresses]):
        return _ops._backward(d_out, q, k, v, out, lse, _as_tensor(seed), *plan.options)
    gradients = [_empty(t.shape, dtype=_half, device=plan.device) for t in (q, k, v)]
    workspace = _empty(of.workspace_bytes, dtype=torch.uint8, device=plan.device)
    call = of.begin(seed)
    words = call.words
    words[0], words[4], words[8], words[12], words[16] = addresses
    words[20] = lse.data_ptr()
    words[21], words[25], words[29] = [gradient.data_ptr() for gradient in gradients]
    if plan.problem.prepared:
        _ops.keep_captured(plan.problem, q)
    _library.backward(call.by_problem, call.by_words, workspace.data_ptr() or None,
                      of.workspace_bytes, plan.stream_of())  # fmt: skip
    of.end(call)
    if plan.accumulator != "fp32":
        given = d_out, q, k, v, out, lse
        return _ops.checked_backward(gradients, given, _as_tensor(seed), plan.options)
    return gradients
