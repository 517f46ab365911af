"""The operators of torch.ops.spark, over the library: functional, on CUDA and on CPU tensors.

    draw_seed(like) -> seed                         an int64 scalar in host memory, from the default
                                                    generator of like's device. On a GPU a seed may
                                                    lie in its memory as well, where each replay of
                                                    a CUDA graph may find another.
    forward(q, k, v, seed?, ..., sinks?) -> (out, lse)
    backward(d_out, q, k, v, out, lse, seed?, ...) -> (dq, dk, dv)
    sink_gradient(d_out, out, lse, sinks) -> d_sinks

Tensors are fp16, [batch, seqlen, heads, head_dim]; views whose rows are aligned to 16 bytes are read
in place, others are copied. Outputs are contiguous. lse is fp32, [batch, heads, seqlen_q], and has no
gradient. Attention over no keys gives zeros, and lse -inf. Sinks are [heads] (_sinks.py): out and lse
have them in, and so has the backward pass, which is given these.
"""

import ctypes
import functools
import math

import torch

from . import _arguments, _fp16_sums, _ledger, _library, _masks, _sinks, _transforms

OF_ALL = (
    "float dropout_p, str dropout_scale, float scale, str mask, str accumulator, bool deterministic"
)
OF_FORWARD = f"{OF_ALL}, Tensor? sinks=None"
_QKV = "Tensor q, Tensor k, Tensor v"

library = torch.library.Library("spark", "DEF")
library.define(
    "draw_seed(Tensor like) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,)
)
library.define(f"forward({_QKV}, Tensor? seed, {OF_FORWARD}) -> (Tensor, Tensor)")
library.define(
    f"backward(Tensor d_out, {_QKV}, Tensor out, Tensor lse, Tensor? seed, {OF_ALL}) "
    "-> (Tensor, Tensor, Tensor)"
)
library.define("sink_gradient(Tensor d_out, Tensor out, Tensor lse, Tensor sinks) -> Tensor")


def draw_seed(like):
    """In the GPU's memory where what draws it will run again: in CUDA graphs, which compiled code
    may become, also that whose operators are traced alone, with tensors of another class."""
    if like.device.type == "cuda" and (
        torch.compiler.is_compiling()
        or type(like) not in (torch.Tensor, torch.nn.Parameter)
        or torch.cuda.is_current_stream_capturing()
    ):
        return torch.randint((1 << 63) - 1, (), dtype=torch.int64, device=like.device)
    return torch.ops.spark.draw_seed.default(like)


# --- What tensors may be. Fakes ask it too, so it reads no data.


_Tensor = torch.Tensor


def require_tensors(**named):
    for name, tensor in named.items():
        if not isinstance(tensor, _Tensor):
            instead = ("NumPy's arrays are for spark_attention.host, JAX's for spark_attention.jax"
                       if hasattr(tensor, "shape") else "torch.tensor() makes one")  # fmt: skip
            raise TypeError(f"{name} is a {type(tensor).__name__}; allowed: a tensor of PyTorch. "
                            f"{instead}")  # fmt: skip


def check_saved(d_out, q, out, lse):
    """What a backward pass is given besides its inputs, of batches and of packed sequences."""
    for name, tensor in (("d_out", d_out), ("out", out)):
        _arguments.check_like(name, tensor, q.shape, q.dtype, q.device)
    _arguments.check_like("lse", lse, (*q.shape[:-3], q.shape[-2], q.shape[-3]), torch.float32, q.device)


def check_tensors(q, k, v, dtype_of=lambda tensor: tensor.dtype):
    """`dtype_of`: what they will be when the kernels get them."""
    require_tensors(q=q, k=k, v=v)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            raise ValueError(f"{name} has {tensor.dim()} dimensions; allowed: 4, [batch, seqlen, "
                             "heads, head_dim]")  # fmt: skip
        if dtype_of(tensor) != torch.float16:
            raise TypeError(why_not_dtype(name, tensor.dtype))
        if tensor.device != q.device:
            raise ValueError(f"{name} is on {tensor.device}, and q on {q.device}")
    if k.shape != v.shape:
        raise ValueError(f"v has shape {tuple(v.shape)}, and k {tuple(k.shape)}: they are equal")
    if k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(f"k has shape {tuple(k.shape)}, and q {tuple(q.shape)}: batch and head_dim "
                         "are equal")  # fmt: skip
    if k.shape[2] == 0 or q.shape[2] % k.shape[2] != 0:
        raise ValueError(_arguments.why_not_heads(q.shape, k.shape))


def why_not_dtype(name, dtype):
    text = f"{name} is {str(dtype).removeprefix('torch.')}; allowed: float16"
    if dtype == torch.bfloat16:
        text += (". A V100 has no bfloat16: run the model in float16, or under "
                 "torch.autocast(..., dtype=torch.float16) with a gradient scaler; or cast it here by "
                 "bf16='cast', which counts what float16 cannot hold")  # fmt: skip
    if dtype == torch.float64:
        text += ". Run the model in float16 (model.half())"
    if dtype == torch.float32:
        text += (". Run the model in float16 (model.half()), or under torch.autocast(..., "
                 "dtype=torch.float16) with a gradient scaler")  # fmt: skip
    return text


# --- From tensors to the library's structs.


def has_rows(tensor):
    """Whether kernels can read it in place, by its strides."""
    *strides, of_columns = tensor.stride()
    return of_columns == 1 and all(
        size == 1 or (stride % 8 == 0 and stride >= 0)
        for size, stride in zip(tensor.shape, strides)
    )


def readable(tensor):
    """The tensor, copied where kernels cannot read it in place."""
    if has_rows(tensor) and tensor.data_ptr() % 16 == 0:
        return tensor
    _ledger.note("copied a tensor whose rows are not contiguous and aligned to 16 bytes")
    return tensor.clone(memory_format=torch.contiguous_format)


def struct_of(tensor):
    batch, seqlen, heads, _ = tensor.stride()
    return _library.Tensor(tensor.data_ptr(), batch, seqlen, heads)


def problem_of(q, k, seed, dropout_p, dropout_scale, scale, mask, accumulator, deterministic,
               sequences=None):  # fmt: skip
    """`sequences`: how many are packed; these have no patterns, and the library says so of its text."""
    is_varlen = sequences is not None
    masks = {"mask": mask.encode()} if is_varlen else _masks.fields_of(mask, q.shape[1], k.shape[1])
    of_q = (sequences, *q.shape[1:]) if is_varlen else q.shape
    return problem_of_shapes(
        of_q, k.shape, q.device, accumulator, softmax_scale=scale, dropout_p=dropout_p,
        dropout_scale=_library.dropout_scale_of(dropout_scale), deterministic=deterministic,
        **masks, **_seed_fields(seed),
    )  # fmt: skip


def problem_of_shapes(q, k, device, accumulator, **others):
    is_cuda = device.type == "cuda"
    batch, seqlen_q, heads, head_dim = q
    return _library.problem(
        backend=_library.CUDA if is_cuda else _library.EMULATED,
        device=device.index or 0 if is_cuda else 0,
        batch=batch, heads=heads, heads_k=k[2], seqlen_q=seqlen_q, seqlen_k=k[1],
        head_dim=head_dim, accumulator=_library.accumulator_of(accumulator), **others,
    )  # fmt: skip


def _seed_fields(seed):
    if seed is None:
        return {}
    if isinstance(seed, int):
        return {"seed": seed}
    if seed.device.type == "cpu":
        return {"seed": seed.item() % 2**64}
    return {"dropout_offset": seed.data_ptr()}  # under the seed 0


def keep_captured(problem, q):
    """What a CUDA graph reads again outlives the calls."""
    if problem.prepared and q.is_cuda and torch.cuda.is_current_stream_capturing():
        _masks.keep(problem.prepared)


def stream_of(tensor):
    if tensor.device.type != "cuda":
        return None
    return torch.cuda.current_stream(tensor.device).cuda_stream


def raw_stream_of(device):
    """What gives the number of the device's current stream, quickly."""
    if device.type != "cuda":
        return lambda: None
    return functools.partial(torch._C._cuda_getCurrentRawStream, device.index)


def check_seed(seed, dropout_p, device):
    if seed is None and dropout_p > 0:
        raise ValueError("dropout_p is above 0, and seed is None; draw_seed(q) gives one")
    if seed is not None and (seed.dtype != torch.int64 or seed.numel() != 1):
        raise ValueError(f"seed is {seed.dtype} of shape {tuple(seed.shape)}; allowed: one int64")
    if seed is not None and seed.device.type != "cpu" and seed.device != device:
        raise ValueError(f"seed is on {seed.device}, and q on {device}; allowed: there, or the CPU")


def dropout_keep(q, k, seed, dropout_p):
    """Which elements of the softmax the seed keeps: a boolean [batch, heads, seqlen_q, seqlen_k]."""
    shape = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    keep = torch.empty(shape, dtype=torch.uint8, device=q.device)
    of = problem_of(q, k, seed, dropout_p, "applied", 0.0, "full", "fp32", False)
    _library.dropout_mask(of, ctypes.c_void_p(keep.data_ptr()), stream_of(q))
    return keep.bool()


# --- The operators.


def _draw_seed_cpu(like):
    return torch.empty((), dtype=torch.int64).random_()


def _mix(value):
    """The finalizer of SplitMix64 (Steele et al., OOPSLA 2014): neighbours give unlike seeds."""
    bits = (1 << 64) - 1
    value = (value + 0x9E3779B97F4A7C15) & bits
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & bits
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & bits
    return value ^ (value >> 31)


_mix_of_seed = functools.lru_cache(_mix)


def _draw_seed_cuda(like):
    return torch.tensor(_number_of_cuda(like), dtype=torch.int64)


def draw_number(like):
    """draw_seed() for a call that runs once: the number itself."""
    if like.is_cuda:
        return draw_seed(like) if torch.cuda.is_current_stream_capturing() else _number_of_cuda(like)
    return _draw_seed_cpu(like).item()


def _number_of_cuda(like):
    """From the GPU's generator, as PyTorch's own kernels draw: by its seed and offset, which are in
    host memory, so that nothing waits."""
    generator = torch.cuda.default_generators[like.device.index]
    offset = generator.get_offset()
    generator.set_offset(offset + 4)  # PyTorch wants multiples of 4
    return _mix(_mix_of_seed(generator.initial_seed()) ^ offset) >> 1


def split(others):
    """OF_FORWARD's options, and sinks, which the dispatcher leaves out where they are none."""
    count = OF_ALL.count(",") + 1
    return others[:count], others[count] if len(others) > count else None


def _forward(q, k, v, seed, *others):
    options, sinks = split(others)
    _transforms.refuse_tangents(q, k, v, sinks)
    _sinks.check(sinks, q)
    return _sinks.applied(*without_sinks(q, k, v, seed, *options), sinks)


def without_sinks(q, k, v, seed, *options):
    """(out, lse), below autograd."""
    check_tensors(q, k, v)
    check_seed(seed, options[0], q.device)
    return checked_forward(_run_forward(q, k, v, seed, *options), q, k, v, seed, options)


def checked_forward(found, q, k, v, seed, options):
    """(out, lse) that have been found, or, where sums in FP16 did not hold, new ones."""
    *others, mask, accumulator, _ = options
    if accumulator == "fp32" or found[0].numel() == 0 or k.shape[1] == 0:
        return found
    rows = _fp16_sums.Rows(mask, q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    return _fp16_sums.checked_forward(
        found, rows, lambda: _run_forward(q, k, v, seed, *in_fp32(options)))  # fmt: skip


def checked_backward(gradients, inputs, seed, options):
    """The same of (dq, dk, dv), by d_out, q, k, v, out and lse."""
    if options[-2] == "fp32" or gradients[0].numel() == 0 or gradients[1].numel() == 0:
        return gradients
    _, _, k, *_, lse = inputs
    return _fp16_sums.checked_backward(
        gradients, lse, options[2], k, lambda: _run_backward(*inputs, seed, *in_fp32(options)),
    )  # fmt: skip


def in_fp32(options):
    return (*options[:-2], "fp32", options[-1])


def _run_forward(q, k, v, seed, dropout_p, *options):
    if options[-2] != "fp32":
        _fp16_sums.prepare(q.device)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32, device=q.device)
    if q.numel() == 0:
        return out, lse
    if k.shape[1] == 0:
        return out.zero_(), lse.fill_(-math.inf)
    q, k, v = readable(q), readable(k), readable(v)
    problem = problem_of(q, k, seed, dropout_p, *options)
    tensors = _library.ForwardTensors(struct_of(q), struct_of(k), struct_of(v), struct_of(out),
                                      lse.data_ptr())  # fmt: skip
    byte_count = _library.workspace_bytes(problem, _library.FORWARD)
    workspace = torch.empty(byte_count, dtype=torch.uint8, device=q.device)
    keep_captured(problem, q)
    _library.forward(problem, ctypes.byref(tensors), workspace.data_ptr() or None, byte_count,
                     stream_of(q))  # fmt: skip
    _ledger.note_run("forward", q, problem)
    return out, lse


def _backward(d_out, q, k, v, out, lse, seed, *options):
    _transforms.refuse_tangents(d_out, q, k, v, out, lse)
    check_tensors(q, k, v)
    check_saved(d_out, q, out, lse)
    check_seed(seed, options[0], q.device)
    inputs = d_out, q, k, v, out, lse
    return checked_backward(_run_backward(*inputs, seed, *options), inputs, seed, options)


def _run_backward(d_out, q, k, v, out, lse, seed, dropout_p, *options):
    gradients = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v)]
    if q.numel() == 0 or k.numel() == 0:
        return tuple(gradient.zero_() for gradient in gradients)
    inputs = [readable(tensor) for tensor in (q, k, v, out, d_out)]
    lse = lse.contiguous()
    problem = problem_of(q, k, seed, dropout_p, *options)
    byte_count = _library.workspace_bytes(problem, _library.BACKWARD)
    workspace = torch.empty(byte_count, dtype=torch.uint8, device=q.device)
    tensors = _library.BackwardTensors(*map(struct_of, inputs), lse.data_ptr(),
                                       *map(struct_of, gradients))  # fmt: skip
    keep_captured(problem, q)
    _library.backward(problem, ctypes.byref(tensors), workspace.data_ptr() or None, byte_count,
                      stream_of(q))  # fmt: skip
    _ledger.note_run("backward", q, problem)
    return tuple(gradients)


def _fake_draw_seed(like):
    return torch.empty((), dtype=torch.int64, device="cpu")


def _fake_forward(q, k, v, seed, *others):
    check_tensors(q, k, v)
    _sinks.check(split(others)[1], q)
    lse_shape = (q.shape[0], q.shape[2], q.shape[1])
    return q.new_empty(q.shape), q.new_empty(lse_shape, dtype=torch.float32)


def _fake_backward(d_out, q, k, v, out, lse, *_):
    check_tensors(q, k, v)
    check_saved(d_out, q, out, lse)
    return tuple(tensor.new_empty(tensor.shape) for tensor in (q, k, v))


def _fake_sink_gradient(d_out, out, lse, sinks):
    _sinks.check_gradient(d_out, out, lse, sinks)
    return sinks.new_empty(sinks.shape)


library.impl("draw_seed", _draw_seed_cpu, "CPU")
library.impl("draw_seed", _draw_seed_cuda, "CUDA")
for _key in ("CPU", "CUDA"):
    library.impl("forward", _forward, _key)
    library.impl("backward", _backward, _key)
    library.impl("sink_gradient", _sinks.gradient, _key)
torch.library.register_fake("spark::draw_seed", _fake_draw_seed, lib=library)
torch.library.register_fake("spark::forward", _fake_forward, lib=library)
torch.library.register_fake("spark::backward", _fake_backward, lib=library)
torch.library.register_fake("spark::sink_gradient", _fake_sink_gradient, lib=library)


# --- Autograd and autocast.


def _setup_context(ctx, inputs, output):
    q, k, v, seed, *ctx.options, sinks = inputs
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output, seed, sinks)


def _autograd(ctx, d_out, _):
    nothing = (None,) * (1 + len(ctx.options))
    if d_out is None:
        return (None, None, None, *nothing, None)
    q, k, v, out, lse, seed, sinks = ctx.saved_tensors
    gradients = torch.ops.spark.backward.default(d_out, q, k, v, out, lse, seed, *ctx.options)
    return (*gradients, *nothing, gradient_of_sinks(ctx, d_out, out, lse, sinks))


def gradient_of_sinks(ctx, d_out, out, lse, sinks):
    """None where it is not wanted; sinks are the last of the context's inputs."""
    if not ctx.needs_input_grad[-1]:
        return None
    return torch.ops.spark.sink_gradient.default(d_out, out, lse, sinks)


_transforms.register(library, "forward", _autograd, _setup_context, _transforms.as_batch(3))
_transforms.register(library, "backward", vmap=_transforms.as_batch(6))
_transforms.register(library, "sink_gradient")
_transforms.register(library, "draw_seed", lambda ctx, _: None, vmap=_transforms.draw_each)


def in_fp16(operator, q, k, v, *others):
    """To fp16 where that is autocast's own type. To others nothing is cast: what is no fp16 then is
    refused, as without autocast. So is fp64."""
    device = q.device.type
    is_half = torch.get_autocast_dtype(device) == torch.float16
    with torch.autocast(device, enabled=False):
        tensors = [t.to(torch.float16) if is_half and t.dtype in (torch.float32, torch.bfloat16) else t
                   for t in (q, k, v)]  # fmt: skip
        return operator(*tensors, *others)


def _autocast_forward(q, k, v, *others):
    return in_fp16(torch.ops.spark.forward.default, q, k, v, *others)


for _key in ("AutocastCPU", "AutocastCUDA"):
    library.impl("forward", _autocast_forward, _key)
