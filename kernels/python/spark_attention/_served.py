"""Which calls of other interfaces the kernels serve, and why not the others."""

import torch

from . import _library

DEVICES = ("cpu", "cuda")


def dtype_of(tensor, bf16="refuse"):
    """The tensor's, or fp16 where autocast or the checked cast make it that."""
    if bf16 == "cast" and tensor.dtype == torch.bfloat16:
        return torch.float16
    device = tensor.device.type
    if device in DEVICES and tensor.dtype in (torch.float32, torch.bfloat16):
        if torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16:
            return torch.float16
    return tensor.dtype


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


def why_not_numbers(dropout_p, scale):
    if not 0 <= dropout_p < 1:
        return f"dropout_p {dropout_p}"
    if scale is not None and not scale > 0:
        return f"scale {scale}"
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
    if device.type == "cuda":
        return why_not_gpu(device.index, head_dim, accumulator)
    return None


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
