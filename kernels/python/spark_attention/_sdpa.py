"""PyTorch's scaled_dot_product_attention (SDPA) by these kernels, where they can.

    with sa.sdpa():                     # or sa.sdpa.install() ... sa.sdpa.uninstall()
        loss = model(batch)
        loss.backward()                 # inside, where checkpoints compute a part anew

On a GPU the operator of PyTorch's memory-efficient attention is overridden (_efficient.py), which is
what SDPA takes on a V100: code that imported the function itself, C++, compiled code, nested tensors
and causal_lower_right get there too. Two kinds of calls never reach that operator, so SDPA's own is
overridden for them besides (_sdpa_operator.py): shared key heads (enable_gqa), for which PyTorch's way
is math over all scores, and CPU tensors, which it has other kernels for. The name
torch.nn.functional.scaled_dot_product_attention is replaced too, so that compiled code, which keeps
what these calls were when it was compiled, is compiled anew. over="name" replaces the name alone, for
all calls. As PyTorch's, dropout multiplies what it keeps by 1 / (1 - dropout_p).

Calls that the kernels do not serve go to PyTorch as before; explain() says which and why. All threads
are concerned.
"""

import contextlib

import torch
import torch.nn.functional
from torch.nn.attention.bias import CausalBias

from . import _efficient, _library, _nested, _sdpa_operator, _served
from ._sdpa_operator import why_not

WAYS = ("operator", "name")


class _Sdpa:
    """sa.sdpa: see the module."""

    def __init__(self):
        self._original = None
        self._bias = None
        self._way = None
        self._operator = None

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
            self._operator = _sdpa_operator.register(accumulator)
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
            self._operator._destroy()
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


def _replacement(original, accumulator, is_alone):
    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, scale=None, enable_gqa=False):  # fmt: skip
        others = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
        if isinstance(attn_mask, CausalBias):
            return CausalBias._dispatch(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                        **others)  # fmt: skip
        if _nested.is_kind(query):
            is_ours = is_alone or _nested.passes_by_kernels(query, key, is_causal, enable_gqa)
            if is_ours and not torch.compiler.is_compiling():  # which keeps to PyTorch's way
                reason = _nested.why_not(query, key, value, attn_mask, dropout_p, scale, enable_gqa,
                                         accumulator)  # fmt: skip
                if reason is None:
                    return _nested.attend(query, key, value, dropout_p, is_causal, scale, accumulator)
                _sdpa_operator.note(reason)
        elif is_alone or _sdpa_operator.passes_by_kernels(query, key, enable_gqa):
            reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa,
                             accumulator)  # fmt: skip
            if reason is None:
                return _sdpa_operator.attend(query, key, value, dropout_p, is_causal, scale,
                                             accumulator)  # fmt: skip
            if is_alone:  # else the operator tells
                _sdpa_operator.note(reason)
        return original(query, key, value, attn_mask=attn_mask, dropout_p=dropout_p,
                        is_causal=is_causal, scale=scale, **others)  # fmt: skip

    return scaled_dot_product_attention


sdpa = _Sdpa()
