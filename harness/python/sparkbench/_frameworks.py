"""What the harness needs of a framework: tensors over the harness's memory, its stream, gradients,
where a result lies, and the allocator's peak. One class each: PyTorch, NumPy, JAX."""

import contextlib
import functools
import os

from . import _memory


class Located:
    """A result: address, shape, strides in elements, dtype; `tensor` owns the memory."""

    def __init__(self, tensor, address, shape, strides, dtype, bytes_of):
        self.tensor, self.address, self.bytes = tensor, address, bytes_of
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype


class Torch:
    name = "torch"
    differentiates = True

    def __init__(self):
        import torch
        import torch._functorch.config

        self.torch = torch
        # A backward pass is repeated from one forward pass: a compiled one must not reuse its memory.
        if hasattr(torch._functorch.config, "donated_buffer"):  # since PyTorch 2.6
            torch._functorch.config.donated_buffer = False
        self._streams = {}

    @property
    def version(self):
        return f"torch {self.torch.__version__}"

    def why_not(self, problem):
        if problem.backend == "cuda" and not self.torch.cuda.is_available():
            return f"PyTorch {self.torch.__version__} here has no CUDA"
        return None

    @contextlib.contextmanager
    def scope(self, problem, stream):
        """Everything within is enqueued on the harness's stream."""
        if problem.backend == "host":
            yield
            return
        cuda = self.torch.cuda
        key = (stream, problem.device)
        if key not in self._streams:
            self._streams[key] = cuda.ExternalStream(stream or 0, device=problem.device)
        with cuda.device(problem.device), cuda.stream(self._streams[key]):
            yield

    def wrap(self, memory):
        return self.torch.from_dlpack(memory)

    def reads_each_call(self, problem):
        """Whether tensors must be wrapped for each call."""
        return False

    def draw(self, shape, problem):
        device = "cpu" if problem.backend == "host" else f"cuda:{problem.device}"
        return self.torch.randn(shape, device=device).to(getattr(self.torch, problem.dtype))

    def run(self, call, inputs, keeps_graph):
        """(result, state for gradients())"""
        if not keeps_graph:
            return call(*inputs), None
        inputs = [x if x.requires_grad else x.requires_grad_() for x in inputs]
        with self.torch.enable_grad():
            result = call(*inputs)
        return result, (first_of(result), inputs)

    def gradients(self, state, d_o, names="qkv"):
        out, inputs = state
        if not out.requires_grad:
            raise NotImplementedError("its result has no gradient (no grad_fn)")
        grads = self.torch.autograd.grad(out, inputs, d_o, retain_graph=True, allow_unused=True)
        for name, grad in zip(names, grads):
            if grad is None:
                raise NotImplementedError(f"its result has no gradient for {name}")
        return grads

    def is_tensor(self, value):
        return self.torch.is_tensor(value)

    def locate(self, tensor, is_compact):
        """A copy if the harness could not read it where it is."""
        tensor = tensor.detach()
        if (is_compact and not tensor.is_contiguous()) or (tensor.ndim and tensor.stride(-1) != 1):
            tensor = tensor.contiguous()
        dtype = str(tensor.dtype).split(".")[-1]
        bytes_of = tensor.numel() * tensor.element_size()
        return Located(tensor, tensor.data_ptr(), tensor.shape, tensor.stride(), dtype, bytes_of)

    def is_on(self, tensor, problem):
        return tensor.is_cuda == (problem.backend == "cuda")

    def synchronize(self, problem):
        if problem.backend == "cuda":
            self.torch.cuda.synchronize(problem.device)

    def allocated_bytes(self, problem):
        return self.torch.cuda.memory_allocated(problem.device)

    def reset_peak(self, problem):
        self.torch.cuda.reset_peak_memory_stats(problem.device)

    def peak_bytes(self, problem):
        return self.torch.cuda.max_memory_allocated(problem.device)

    def free_cache(self, problem):
        if problem.backend == "cuda":
            self.torch.cuda.empty_cache()

    def is_out_of_memory(self, error):
        if isinstance(error, (MemoryError, self.torch.cuda.OutOfMemoryError)):
            return True
        return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)  # the host's


class NumPy:
    name = "numpy"
    differentiates = False

    def __init__(self):
        import numpy

        self.numpy = numpy

    @property
    def version(self):
        return f"numpy {self.numpy.__version__}"

    def why_not(self, problem):
        if problem.backend != "host":
            return "NumPy has no arrays on a GPU"
        return "NumPy has no bfloat16" if problem.dtype == "bfloat16" else None

    def scope(self, problem, stream):
        return contextlib.nullcontext()

    def wrap(self, memory):
        return self.numpy.asarray(memory)

    def reads_each_call(self, problem):
        return False

    def draw(self, shape, problem):
        return self.numpy.random.default_rng(0).standard_normal(shape).astype(problem.dtype)

    def run(self, call, inputs, keeps_graph):
        return call(*inputs), None

    def gradients(self, state, d_o, names="qkv"):
        raise NotImplementedError("NumPy has no gradients: give a backward function")

    def is_tensor(self, value):
        return isinstance(value, self.numpy.ndarray)

    def locate(self, array, is_compact):
        if (is_compact and not array.flags.c_contiguous) or (
            array.ndim and array.strides[-1] != array.itemsize
        ):
            array = self.numpy.ascontiguousarray(array)
        strides = [stride // array.itemsize for stride in array.strides]
        return Located(array, array.ctypes.data, array.shape, strides, array.dtype.name, array.nbytes)

    def is_on(self, array, problem):
        return True

    def synchronize(self, problem):
        pass

    def free_cache(self, problem):
        pass

    def is_out_of_memory(self, error):
        return isinstance(error, MemoryError)


class Jax:
    """JAX computes on streams of its own. Inputs make them wait for the harness's stream, and
    results the harness's stream for them: all of it is between the timer's events. Functions are
    compiled by jax.jit."""

    name = "jax"
    differentiates = True

    def __init__(self):
        # Otherwise JAX takes three quarters of the GPU's memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
        import jax.dlpack

        self.jax = jax
        self._compiled = {}
        self._stream = None

    @property
    def version(self):
        return f"jax {self.jax.__version__}"

    def why_not(self, problem):
        if problem.backend == "cuda" and self.jax.default_backend() != "gpu":
            return f"JAX {self.jax.__version__} here has no GPU"
        if problem.layout == "qkv-packed":
            return "JAX takes no slices of a packed tensor; allowed: --layout bshd,bhsd,k-bhsd"
        return None

    @contextlib.contextmanager
    def scope(self, problem, stream):
        self._stream = stream if problem.backend == "cuda" else None
        if problem.backend == "host":
            yield
            return
        with self.jax.default_device(self.jax.local_devices(backend="gpu")[problem.device]):
            yield

    def wrap(self, memory):
        return self.jax.dlpack.from_dlpack(memory)

    def reads_each_call(self, problem):
        return True  # the wrapping makes JAX's stream wait, and on the host may copy

    def draw(self, shape, problem):
        key = self.jax.random.key(0)
        return self.jax.random.normal(key, shape).astype(problem.dtype)

    def run(self, call, inputs, keeps_graph):
        if not keeps_graph:
            result = self._jit(call, call)(*inputs)
            return self._join(result), None

        def with_residuals(*arguments):
            def split(*qkv):
                result = call(*qkv)
                return (result, None) if not isinstance(result, tuple) else (result[0], result[1:])

            out, of_gradient, more = self.jax.vjp(split, *arguments, has_aux=True)
            return out, more, of_gradient

        out, more, of_gradient = self._jit(("vjp", call), with_residuals)(*inputs)
        return self._join(out if more is None else (out, *more)), of_gradient

    def gradients(self, state, d_o, names="qkv"):
        apply = self._jit("gradient", lambda of_gradient, d: of_gradient(d))
        return self._join(apply(state, d_o))

    def _jit(self, key, function):
        if key not in self._compiled:
            if len(self._compiled) > 16:  # those of problems that have been done
                self._compiled.clear()
            self._compiled[key] = self.jax.jit(function)
        return self._compiled[key]

    def _join(self, result):
        """The harness's stream waits for the results; on the host the caller does."""
        if self._stream is None:
            return self.jax.block_until_ready(result)
        for leaf in self.jax.tree_util.tree_leaves(result):
            leaf.__dlpack__(stream=self._stream)
        return result

    def is_tensor(self, value):
        return isinstance(value, self.jax.Array)

    def locate(self, array, is_compact):
        address = array.unsafe_buffer_pointer()
        strides = _memory.compact_strides(array.shape)
        return Located(array, address, array.shape, strides, str(array.dtype), array.nbytes)

    def is_on(self, array, problem):
        return True

    def synchronize(self, problem):
        self.jax.effects_barrier()

    def _statistics(self):
        return self.jax.local_devices()[0].memory_stats() or {}

    def allocated_bytes(self, problem):
        return self._statistics().get("bytes_in_use", 0)

    def reset_peak(self, problem):
        pass  # JAX's peak is that of the process

    def peak_bytes(self, problem):
        return self._statistics().get("bytes_in_use", 0)

    def free_cache(self, problem):
        pass

    def is_out_of_memory(self, error):
        return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def first_of(result):
    return result[0] if isinstance(result, (tuple, list)) else result


FRAMEWORKS = {"torch": Torch, "numpy": NumPy, "jax": Jax}


@functools.lru_cache(maxsize=None)
def framework(name):
    """Throws ImportError where it is not installed."""
    return FRAMEWORKS[name]()
