"""A kernel, prepared for a problem: what the harness calls between its timer's events."""

import functools
import time

from . import _memory
from ._frameworks import first_of
from ._kernel import arguments_of


STRIDED = ("o", "dq", "dk", "dv")  # other results are contiguous


class Prepared:
    """The forward and backward function of a problem, compiled and tuned by a first call on random
    tensors. Plans of one problem share it: the harness makes several."""

    def __init__(self, kernel, framework, problem, stream):
        self.kernel, self.framework, self.problem = kernel, framework, problem
        with framework.scope(problem, stream):
            framework.synchronize(problem)
            self.base_bytes = self._allocated()
            start = time.perf_counter()
            self.forward, self.backward = kernel.prepare(problem)
            self._first_call()
            framework.synchronize(problem)
            self.seconds = time.perf_counter() - start
        framework.free_cache(problem)

    def _allocated(self):
        is_gpu = self.problem.backend == "cuda"
        return self.framework.allocated_bytes(self.problem) if is_gpu else 0

    def new_plan(self):
        return Plan(self)

    def _first_call(self):
        problem = self.problem
        self.forward_names = arguments_of(self.forward)
        self.backward_names = arguments_of(self.backward) if self.backward else set()
        plan = self.new_plan()
        lengths = [None, None]
        if problem.is_varlen:
            lengths = [self._offsets(cu) for cu in (problem.cu_seqlens_q, problem.cu_seqlens_k)]
        plan.run_forward(*self._draw_qkv(), *lengths)
        if problem.has_backward:
            plan.run_backward(self._draw(problem.q_shape))

    def _draw(self, shape, heads_first=("bhsd",)):
        """A random tensor, with heads before rows in memory in these layouts: compilers and tuners look
        at the strides."""
        if self.problem.layout not in heads_first:
            return self.framework.draw(shape, self.problem)
        *batch, rows, heads, dim = shape
        return self.framework.draw((*batch, heads, rows, dim), self.problem).swapaxes(-3, -2)

    def _draw_qkv(self):
        problem = self.problem
        q, k = problem.q_shape, problem.k_shape
        if problem.layout != "qkv-packed":
            return [self._draw(q), self._draw(k, ("bhsd", "k-bhsd")), self._draw(k)]
        has_q = q[-3] == k[-3]
        counts = [problem.heads if has_q else 0, problem.heads_k, problem.heads_k]
        packed = self._draw((*k[:-2], sum(counts), k[-1]))
        ends = [sum(counts[: i + 1]) for i in range(3)]
        slices = [packed[..., end - count : end, :] for count, end in zip(counts, ends)]
        return [slices[0] if has_q else self._draw(q), *slices[1:]]

    def _offsets(self, numbers):
        """On the problem's device."""
        name = self.framework.name
        if name == "torch":
            device = "cpu" if self.problem.backend == "host" else f"cuda:{self.problem.device}"
            return self.framework.torch.tensor(
                numbers, dtype=self.framework.torch.int32, device=device
            )
        import numpy

        array = numpy.array(numbers, dtype=numpy.int32)
        return self.framework.jax.numpy.asarray(array) if name == "jax" else array

    def arguments(self, names, cu_seqlens_q, cu_seqlens_k):
        problem = self.problem
        known = {
            "causal": problem.causal,
            "window": problem.window,
            "mask": problem.mask,
            "sees": problem.sees,
            "softmax_scale": problem.softmax_scale,
            "dropout_p": problem.dropout_p,
            "seed": problem.seed,
            "dropout_offset": problem.dropout_offset,
            "deterministic": problem.deterministic,
            "enable_gqa": problem.heads != problem.heads_k,
            "cu_seqlens_q": cu_seqlens_q,
            "cu_seqlens_k": cu_seqlens_k,
            "max_seqlen_q": problem.seqlen_q,
            "max_seqlen_k": problem.seqlen_k,
        }
        return {name: known[name] for name in names}


class Plan:
    """The tensors of the last passes. Results stay alive until the next pass of their kind begins,
    and are let go before it, so that the framework may write into the same memory again."""

    input_names = "qkv"

    def __init__(self, prepared):
        self.prepared, self.framework = prepared, prepared.framework
        self.problem = prepared.problem
        self.out = self.lse = self.saved = self.state = self.inputs = self.gradients = None
        self.call = self.call_backward = self.cu_seqlens = None
        self.wrapped = {}
        self.located = {}
        if self.problem.backend == "cuda":
            self.framework.reset_peak(self.problem)

    # What the harness calls.

    def forward(self, tensors, stream):
        with self.framework.scope(self.problem, stream):
            self.run_forward(*self._inputs(tensors, stream), *self._lengths(tensors, stream))

    def backward(self, tensors, stream):
        with self.framework.scope(self.problem, stream):
            d_o = self._wrap("d_o", tensors.d_o, self.problem.q_shape, stream)
            self.run_backward(d_o)

    def outputs(self, stream):
        """{name: Located} of what was computed, checked."""
        with self.framework.scope(self.problem, stream):
            problem = self.problem
            expected = {"o": (self.out, problem.q_shape), "lse": (self.lse, problem.lse_shape)}
            for name, gradient in zip(("dq", "dk", "dv"), self.gradients or ()):
                shape = problem.q_shape if name == "dq" else problem.k_shape
                expected[name] = (gradient, shape)
            self.located = {
                name: self._locate(name, tensor, shape)
                for name, (tensor, shape) in expected.items()
                if tensor is not None
            }
        return self.located

    def peak_bytes(self):
        """Beyond inputs and outputs."""
        if self.problem.backend == "host":
            return 0
        base, outputs = self.prepared.base_bytes, sum(x.bytes for x in self.located.values())
        return max(0, self.framework.peak_bytes(self.problem) - base - outputs)

    # The passes.

    def run_forward(self, q, k, v, cu_seqlens_q, cu_seqlens_k):
        prepared = self.prepared
        self.out = self.lse = self.saved = self.state = self.gradients = None
        self.located = {}
        self._bind(cu_seqlens_q, cu_seqlens_k)
        self.inputs = (q, k, v)
        keeps_graph = (  # also in a forward pass: it keeps what a training step's would
            prepared.backward is None and prepared.kernel.autograd and self.framework.differentiates
        )
        result, self.state = self.framework.run(self.call, self.inputs, keeps_graph)
        self._take(result)

    def _bind(self, *cu_seqlens):
        """The functions with the problem's arguments; the same objects as long as these are."""
        if self.call is not None and self.cu_seqlens == tuple(map(id, cu_seqlens)):
            return
        prepared, self.cu_seqlens = self.prepared, tuple(map(id, cu_seqlens))
        options = prepared.arguments(prepared.forward_names, *cu_seqlens)
        self.call = functools.partial(prepared.forward, **options)
        if prepared.backward:
            options = prepared.arguments(prepared.backward_names, *cu_seqlens)
            self.call_backward = functools.partial(prepared.backward, **options)

    def _take(self, result):
        parts = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        if not parts or not self.framework.is_tensor(parts[0]):
            raise TypeError(
                f"it returned {type(first_of(result) if parts else result).__name__}; allowed: a "
                f"{self.framework.name} tensor 'out', or (out, lse)"
            )
        self.out, self.lse = parts[0], parts[1] if len(parts) > 1 else None
        self.saved = parts[2:]

    def run_backward(self, d_o):
        prepared = self.prepared
        self.gradients = None
        for name in ("dq", "dk", "dv"):
            self.located.pop(name, None)
        if prepared.backward is None:
            gradients = self.framework.gradients(self.state, d_o)
        else:
            gradients = self.call_backward(d_o, *self.inputs, self.out, self.lse, *self.saved)
        if len(gradients) != 3:
            raise TypeError(
                f"its backward pass returned {len(gradients)} tensors; allowed: dq, dk, dv"
            )
        self.gradients = tuple(gradients)

    # Tensors.

    def _inputs(self, tensors, stream):
        problem = self.problem
        return (
            self._wrap("q", tensors.q, problem.q_shape, stream),
            self._wrap("k", tensors.k, problem.k_shape, stream),
            self._wrap("v", tensors.v, problem.k_shape, stream),
        )

    def _lengths(self, tensors, stream):
        if not self.problem.is_varlen:
            return None, None
        shape = (self.problem.batch + 1,)
        return tuple(
            self._wrap_address(address, shape, (1,), "int32", stream)
            for address in (tensors.cu_seqlens_q, tensors.cu_seqlens_k)
        )

    def _wrap(self, name, tensor, shape, stream):
        strides = (tensor.seqlen_stride, tensor.head_stride, 1)
        if len(shape) == 4:
            strides = (tensor.batch_stride, *strides)
        return self._wrap_address(tensor.data, shape, strides, self.problem.dtype, stream)

    def _wrap_address(self, address, shape, strides, dtype, stream):
        key = (address, shape, strides, dtype)
        if key in self.wrapped and not self.framework.reads_each_call(self.problem):
            return self.wrapped[key]
        if 0 in shape:
            address = address or 0
        memory = _memory.Memory(address, shape, strides, dtype, self.problem.device, stream)
        self.wrapped[key] = self.framework.wrap(memory)
        return self.wrapped[key]

    def _locate(self, name, tensor, shape):
        framework, problem = self.framework, self.problem
        if not framework.is_tensor(tensor):
            kind = type(tensor).__name__
            raise TypeError(f"its {name} is {kind}; allowed: a {framework.name} tensor")
        found = framework.locate(tensor, is_compact=name not in STRIDED)
        dtype = "float32" if name == "lse" else problem.dtype
        if found.shape != tuple(shape):
            raise ValueError(f"its {name} has shape {list(found.shape)}; allowed: {list(shape)}")
        if found.dtype != dtype:
            raise TypeError(f"its {name} is {found.dtype}; allowed: {dtype}")
        if not framework.is_on(tensor, problem):
            raise ValueError(f"its {name} is in other memory than q; allowed: q's device")
        for input_name, x in zip(self.input_names, self.inputs):
            if _overlap(found, framework.locate(x, is_compact=False)):
                raise ValueError(f"its {name} is memory of its input {input_name}")
        return found


def _overlap(a, b):
    if 0 in (a.address, b.address, a.bytes, b.bytes):
        return False
    return a.address < b.address + b.bytes and b.address < a.address + a.bytes
