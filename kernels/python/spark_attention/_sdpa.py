"""PyTorch's scaled_dot_product_attention (SDPA) by these kernels, where they can.

    with sa.sdpa():                     # or sa.sdpa.install() ... sa.sdpa.uninstall()
        loss = model(batch)
        loss.backward()                 # inside, where checkpoints compute a part anew

On a GPU the operator of PyTorch's memory-efficient attention is overridden (_efficient.py), which is
what SDPA takes on a V100: code that imported the function itself, C++, compiled code, nested tensors
and causal_lower_right get there too. Two kinds of calls never reach that operator, so the name
torch.nn.functional.scaled_dot_product_attention is replaced for them besides: shared key heads
(enable_gqa), for which PyTorch's way is math over all scores, and CPU tensors, which it has other
kernels for. over="name" replaces the name alone, for all calls. As PyTorch's, dropout multiplies what
it keeps by 1 / (1 - dropout_p).

Calls that the kernels do not serve go to PyTorch as before; explain() says which and why. All threads
are concerned.
"""

import contextlib

import torch
import torch.nn.functional
from torch.nn.attention.bias import CausalBias

from . import _efficient, _ledger, _library, _served
from ._attention import attention

WAYS = ("operator", "name")


def why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, accumulator="fp32"):
    """Why the kernels do not serve a call of SDPA; None where they do."""
    if not all(tensor.dim() == 4 for tensor in (query, key, value)):
        return "tensors of other than 4 dimensions"
    if attn_mask is not None:
        return "attn_mask is given"
    if is_causal and query.shape[-2] != key.shape[-2]:
        return "is_causal with other lengths of q and k: PyTorch's begins at the first key"
    if query.shape[1] != key.shape[1] and not enable_gqa:
        return "other heads of q and k without enable_gqa"
    if not 0 <= dropout_p < 1:
        return f"dropout_p {dropout_p}"
    if scale is not None and not scale > 0:
        return f"scale {scale}"
    return _served.why_not(*(tensor.transpose(1, 2) for tensor in (query, key, value)), accumulator)


class _Sdpa:
    """sa.sdpa: see the module."""

    def __init__(self):
        self._original = None
        self._bias = None
        self._way = None

    @contextlib.contextmanager
    def __call__(self, accumulator="fp32", *, over="operator"):
        is_first = self._original is None
        if is_first:
            self.install(accumulator, over=over)
        try:
            yield
        finally:
            if is_first:
                self.uninstall()

    def install(self, accumulator="fp32", *, over="operator"):
        """Raises RuntimeError with the reason where it would do nothing: a test runs through SDPA on
        the current GPU."""
        if self._original is not None:
            raise RuntimeError("sa.sdpa is installed already")
        if accumulator not in _library.ACCUMULATORS or accumulator in _library.FORWARD_ALONE:
            raise ValueError(f"accumulator is {accumulator!r}; allowed: fp32, fp16")
        if over not in WAYS:
            raise ValueError(f"over is {over!r}; allowed: {', '.join(WAYS)}")
        if over == "operator":
            _efficient.install(accumulator)
        _served.prepare(accumulator)
        self._way = over
        self._original = torch.nn.functional.scaled_dot_product_attention
        self._bias = CausalBias.__dict__["__torch_function__"]
        CausalBias.__torch_function__ = _bias_of(self._original)
        torch.nn.functional.scaled_dot_product_attention = _replacement(
            self._original, accumulator, over == "name"
        )

    def uninstall(self):
        if self._original is None:
            raise RuntimeError("sa.sdpa is not installed")
        if self._way == "operator":
            _efficient.seam.give_back()
        torch.nn.functional.scaled_dot_product_attention = self._original
        CausalBias.__torch_function__ = self._bias
        self._original = None

    def supports(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                 enable_gqa=False):  # fmt: skip
        """(True, "") where such a call of scaled_dot_product_attention would run here; else (False,
        the reason)."""
        reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return reason is None, reason or ""


def _bias_of(original):
    """CausalBias knows SDPA by the name that is replaced: this one knows the function itself, too."""
    inherited = CausalBias.__torch_function__

    def torch_function(cls, func, types, args=(), kwargs=None):
        if func is original:
            return cls._dispatch(*args, **(kwargs or {}))
        return inherited(func, types, args, kwargs)

    return classmethod(torch_function)


def _note(line):
    if not torch.compiler.is_compiling():
        _ledger.note(line)


def _replacement(original, accumulator, is_alone):
    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, scale=None, enable_gqa=False):  # fmt: skip
        others = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
        if isinstance(attn_mask, CausalBias):
            return CausalBias._dispatch(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                        **others)  # fmt: skip
        shares_heads = enable_gqa and query.dim() == 4 and query.shape[1] != key.shape[1]
        is_ours = is_alone or query.device.type == "cpu" or shares_heads
        reason = None
        if is_ours:
            reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa,
                             accumulator)  # fmt: skip
        if not is_ours or reason is not None:
            if reason is not None:
                _note(f"left to PyTorch: {reason}")
            return original(query, key, value, attn_mask=attn_mask, dropout_p=dropout_p,
                            is_causal=is_causal, scale=scale, **others)  # fmt: skip
        out = attention(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
                        causal=is_causal, dropout_p=dropout_p, scale=scale,
                        accumulator=accumulator, dropout_scale="asked")  # fmt: skip
        return out.transpose(1, 2)

    return scaled_dot_product_attention


sdpa = _Sdpa()
