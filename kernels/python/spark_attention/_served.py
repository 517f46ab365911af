"""Which calls of other interfaces the kernels serve, and why not the others."""

import functools

import torch

from . import _arguments, _library, _ops

DEVICES = ("cpu", "cuda")


def dtype_of(tensor, bf16="refuse"):
    """The tensor's, or fp16 where autocast, the checked cast or both make it that."""
    device, dtype = tensor.device.type, tensor.dtype
    if device in DEVICES and dtype in (torch.float32, torch.bfloat16):
        if torch.is_autocast_enabled(device):
            to = torch.get_autocast_dtype(device)
            dtype = to if to == torch.float16 or bf16 == "cast" else dtype
    return torch.float16 if bf16 == "cast" and dtype == torch.bfloat16 else dtype


def why_not(q, k, v, accumulator="fp32", bf16="refuse"):
    """Why attention() does not serve q, k and v, with gradients; None where it does."""
    dtypes = [dtype_of(tensor, bf16) for tensor in (q, k, v)]
    return why_not_of(q.shape, k.shape, v.shape, dtypes, q.device, accumulator)


def why_not_call(query, key, attn_mask, dropout_p, scale, enable_gqa):
    """Why not a call of SDPA, whose tensors are [batch, heads, seqlen, head_dim], whatever is in them."""
    if attn_mask is not None:
        return "attn_mask is given"
    if query.shape[1] != key.shape[1] and not enable_gqa:
        return "other heads of q and k without enable_gqa"
    return why_not_numbers(dropout_p, scale)


_MOST_OFF = 0.01


def why_not_numbers(dropout_p, scale):
    """PyTorch applies any dropout_p as it is, and these kernels in 256ths. What is kept is multiplied by
    1 / (1 - dropout_p), so the mean changes: a p that changes it by more than 1 %, which only those
    above 0.8 do, is PyTorch's, as is one that would become 0."""
    try:
        _arguments.scale_of(scale)
        dropout_p = _arguments.dropout_of(dropout_p)
    except (TypeError, ValueError) as error:
        return str(error)
    applied = _arguments.applied_dropout(dropout_p)
    off = abs((1 - applied) / (1 - dropout_p) - 1)
    if (applied == 0) != (dropout_p == 0) or off > _MOST_OFF:
        return f"dropout_p {dropout_p}, which is applied in 256ths and would be {applied}"
    return None


def why_not_of(q, k, v, dtypes, device, accumulator="fp32"):
    """The same by shapes of [batch, seqlen, heads, head_dim] and what else tensors have."""
    if not len(q) == len(k) == len(v) == 4:
        return "tensors of other than 4 dimensions"
    for dtype in dtypes:
        if dtype != torch.float16:
            return f"dtype {str(dtype).removeprefix('torch.')}"
    if device.type not in DEVICES:
        return f"device {device.type}"
    head_dim = int(q[3])
    if head_dim not in _library.head_dims(accumulator) or v[3] != head_dim or k[3] != head_dim:
        return f"head_dim {head_dim}, {v[3]}"
    if q[0] != k[0] or k[:3] != v[:3]:
        return "shapes that broadcast"
    if k[2] == 0 or q[2] % k[2] != 0:
        return "heads of k that do not divide those of q"
    if not torch.compiler.is_compiling():
        return _why_no_kernel(tuple(q), tuple(k), device, accumulator)
    if max(q[0], q[2]) > _library.MOST_ENTRIES:
        return f"more than {_library.MOST_ENTRIES} samples or heads"
    if device.type == "cuda":
        return why_not_gpu(device.index, head_dim, accumulator)
    return None


@functools.lru_cache(4096)
def _why_no_kernel(q, k, device, accumulator):
    """As the library tells of both passes; nothing is launched for empty tensors."""
    if 0 in q or 0 in k:
        return None
    try:
        of = _ops.problem_of_shapes(q, k, device, accumulator)
    except ValueError as error:
        return str(error)
    return _library.why_unsupported_passes(of)


_of_gpus = {}


def why_not_gpu(index, head_dim, accumulator):
    """Why no kernel serves both passes on the GPU. Compiled code, which cannot look into the library,
    knows what prepare() asked."""
    key = (index, head_dim, accumulator)
    if key not in _of_gpus and not torch.compiler.is_compiling():
        of = _library.problem(backend=_library.CUDA, device=index, batch=1, heads=1, seqlen_q=1,
                              seqlen_k=1, head_dim=head_dim,
                              accumulator=_library.accumulator_of(accumulator))  # fmt: skip
        _of_gpus[key] = _library.why_unsupported_passes(of)
    return _of_gpus.get(key)


def prepare(accumulator):
    """Asks the library what compiled code will want to know, of the current GPU. Starts CUDA on none:
    each process of a training on several has its own."""
    head_dims = _library.head_dims(accumulator)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for head_dim in head_dims:
            why_not_gpu(torch.cuda.current_device(), head_dim, accumulator)
