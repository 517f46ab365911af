"""torch.nn.functional.scaled_dot_product_attention by these kernels, where they can.

    with sa.sdpa():                     # or sa.sdpa.install() ... sa.sdpa.uninstall()
        loss = model(batch)
        loss.backward()                 # inside, where checkpoints compute a part anew

Calls that the kernels do not serve go to PyTorch as before; explain() says which and why. The name
in torch.nn.functional is replaced, in all threads. Code that has imported the function itself
(`from torch.nn.functional import ...`) keeps the old one, as does compiled C++.
"""

import contextlib
import functools

import torch
import torch.nn.functional

from . import _ledger, _library
from ._attention import attention

_SERVED_DEVICES = ("cpu", "cuda")


def _type_of(tensor):
    """The tensor's, or fp16 where autocast makes it that."""
    device = tensor.device.type
    if device in _SERVED_DEVICES and tensor.dtype in (torch.float32, torch.bfloat16):
        if torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16:
            return torch.float16
    return tensor.dtype


@functools.cache
def _why_not_gpu(index, head_dim):
    of = _library.problem(backend=_library.CUDA, device=index, batch=1, heads=1, seqlen_q=1,
                          seqlen_k=1, head_dim=head_dim)  # fmt: skip
    return _library.why_unsupported(of, _library.BACKWARD)


def why_not(query, key, value, attn_mask, is_causal, enable_gqa):
    """Why the kernels do not serve the call; None where they do."""
    if not all(tensor.dim() == 4 for tensor in (query, key, value)):
        return "tensors of other than 4 dimensions"
    if attn_mask is not None:
        return "attn_mask is given"
    if not all(_type_of(tensor) == torch.float16 for tensor in (query, key, value)):
        return f"dtype {str(query.dtype).removeprefix('torch.')}"
    if query.device.type not in _SERVED_DEVICES:
        return f"device {query.device.type}"
    if query.shape[-1] not in _library.HEAD_DIMS or value.shape[-1] != query.shape[-1]:
        return f"head_dim {query.shape[-1]}, {value.shape[-1]}"
    if is_causal and query.shape[-2] != key.shape[-2]:
        return "is_causal with other lengths of q and k: PyTorch's begins at the first key"
    if query.shape[0] != key.shape[0] or key.shape[:3] != value.shape[:3]:
        return "shapes that broadcast"
    if query.shape[1] != key.shape[1] and not enable_gqa:
        return "other heads of q and k without enable_gqa"
    if key.shape[1] == 0 or query.shape[1] % key.shape[1] != 0:
        return "heads of k that do not divide those of q"
    if query.device.type == "cuda" and not torch.compiler.is_compiling():
        return _why_not_gpu(query.device.index, query.shape[-1])
    return None


class _Sdpa:
    """sa.sdpa: see the module."""

    def __init__(self):
        self._original = None

    @contextlib.contextmanager
    def __call__(self, accumulator="fp32"):
        is_first = self._original is None
        if is_first:
            self.install(accumulator)
        try:
            yield
        finally:
            if is_first:
                self.uninstall()

    def install(self, accumulator="fp32"):
        if self._original is not None:
            raise RuntimeError("sa.sdpa is installed already")
        if accumulator not in _library.ACCUMULATORS or accumulator in _library.FORWARD_ALONE:
            raise ValueError(f"accumulator is {accumulator!r}; allowed: fp32, fp16")
        self._original = torch.nn.functional.scaled_dot_product_attention
        torch.nn.functional.scaled_dot_product_attention = _replacement(
            self._original, accumulator
        )

    def uninstall(self):
        if self._original is None:
            raise RuntimeError("sa.sdpa is not installed")
        torch.nn.functional.scaled_dot_product_attention = self._original
        self._original = None


def _note(line):
    if not torch.compiler.is_compiling():
        _ledger.note(line)


def _replacement(original, accumulator):
    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, scale=None, enable_gqa=False):  # fmt: skip
        reason = why_not(query, key, value, attn_mask, is_causal, enable_gqa)
        if not 0 <= dropout_p < 1:
            reason = f"dropout_p {dropout_p}"
        if scale is not None and not scale > 0:
            reason = f"scale {scale}"
        if reason is not None:
            _note(f"left to PyTorch: {reason}")
            others = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
            return original(query, key, value, attn_mask=attn_mask, dropout_p=dropout_p,
                            is_causal=is_causal, scale=scale, **others)  # fmt: skip
        out = attention(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
                        causal=is_causal, dropout_p=dropout_p, scale=scale,
                        accumulator=accumulator)  # fmt: skip
        return out.transpose(1, 2)

    return scaled_dot_product_attention


sdpa = _Sdpa()
