"""PyTorch's scaled_dot_product_attention (SDPA) by these kernels, where they can.

    with sa.sdpa():                     # or sa.sdpa.install() ... sa.sdpa.uninstall()
        loss = model(batch)
        loss.backward()                 # inside, where checkpoints recompute a part

On a GPU the operator of PyTorch's memory-efficient attention is overridden (_efficient.py), which is
what SDPA takes on a V100: code that imported the function itself, C++, compiled code, nested tensors
and causal_lower_right get there too. Two kinds of calls never reach that operator, so SDPA's own is
overridden for them as well (_sdpa_operator.py): shared key heads (enable_gqa), for which PyTorch's way
is math over all scores, and CPU tensors, which it has other kernels for. The name
torch.nn.functional.scaled_dot_product_attention is replaced too, so that compiled code, which keeps
what these calls were when it was compiled, is recompiled. over="name" replaces only the name, for
all calls. As PyTorch's, dropout multiplies what it keeps by 1 / (1 - dropout_p). It is applied in 256ths,
and where that would change the mean by more than 1 % (_served.py), the call goes to PyTorch.

Calls that the kernels do not serve go to PyTorch as before; explain() says which and why. All threads
are concerned.
"""

import contextlib
import dataclasses
import threading

import torch
import torch.nn.functional
from torch.nn.attention.bias import CausalBias

from . import _efficient, _library, _nested, _sdpa_operator, _served
from ._sdpa_operator import why_not

WAYS = ("operator", "name")


@dataclasses.dataclass(eq=False)
class _Use:
    """An install() or an open context."""

    accumulator: str
    over: str
    thread: int  # of a context; 0 for install()


class _Sdpa:
    """sa.sdpa: see the module. Contexts and install() may stand inside each other and in several threads:
    a thread's innermost context says how its calls run, and where it has none the last one of all."""

    def __init__(self):
        self._uses = []
        self._lock = threading.RLock()
        self._operator = self._name = None
        self._fast_path = _FastPath()

    @contextlib.contextmanager
    def __call__(self, accumulator="fp32", *, over="operator"):
        use = self._begin(_Use(accumulator, over, threading.get_ident()))
        try:
            yield
        finally:
            self._end(use)

    def install(self, accumulator="fp32", *, over="operator"):
        """Raises RuntimeError with the reason where it would do nothing: a test runs through SDPA on
        the current GPU."""
        if self._installed() is not None:
            raise RuntimeError("sa.sdpa is installed already")
        self._begin(_Use(accumulator, over, 0))

    def uninstall(self):
        use = self._installed()
        if use is None:
            raise RuntimeError("sa.sdpa is not installed")
        self._end(use)

    def _installed(self):
        return next((use for use in self._uses if use.thread == 0), None)

    def _begin(self, use):
        _library.accumulator_of(use.accumulator)
        if use.over not in WAYS:
            raise ValueError(f"over is {use.over!r}; allowed: {', '.join(WAYS)}")
        with self._lock:
            if use.over == "operator" and self._operator is None:
                _efficient.install(self.accumulator)
                self._operator = _sdpa_operator.register(self.accumulator)
            _served.prepare(use.accumulator)
            self._uses.append(use)
            self._name = _Name.instead_of(self._name, use)
            self._fast_path.follow(self._uses)
        return use

    def _end(self, use):
        with self._lock:
            self._uses.remove(use)
            if self._operator is not None and all(left.over != "operator" for left in self._uses):
                _efficient.seam.give_back()
                self._operator._destroy()
                self._operator = None
            self._name = _Name.instead_of(self._name, self._uses[-1] if self._uses else None)
            self._fast_path.follow(self._uses)

    def accumulator(self):
        """Of the calling thread's calls."""
        uses, thread = self._uses.copy(), threading.get_ident()
        own = [use for use in uses if use.thread == thread]
        return (own or uses)[-1].accumulator if uses else "fp32"

    def supports(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                 enable_gqa=False):  # fmt: skip
        """(True, "") where such a call of scaled_dot_product_attention would run here; else (False,
        the reason)."""
        reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return reason is None, reason or ""


class _FastPath:
    """PyTorch's fast path of nn.TransformerEncoderLayer and nn.MultiheadAttention in eval(). On a
    GPU it calls SDPA's operator. On the CPU it computes attention itself, and it never calls the
    name in torch.nn.functional: there it is switched off, for the process."""

    def __init__(self):
        self._was_enabled = None  # where it is switched off here

    def follow(self, uses):
        passes_by = any(use.over == "name" or not torch.cuda.is_available() for use in uses)
        flag = torch.backends.mha
        if passes_by and self._was_enabled is None:
            self._was_enabled = flag.get_fastpath_enabled()
            flag.set_fastpath_enabled(False)
        elif not passes_by and self._was_enabled is not None:
            if not flag.get_fastpath_enabled():  # else someone switched it on since
                flag.set_fastpath_enabled(self._was_enabled)
            self._was_enabled = None


class _Name:
    """Our function in the place of torch.nn.functional.scaled_dot_product_attention. Where another
    library has put its own before it since, ours stays behind that one, and hands on what it gets."""

    def __init__(self, use):
        self.use = use
        self.original = torch.nn.functional.scaled_dot_product_attention
        self.function = _replacement(self)
        self.bias = CausalBias.__dict__["__torch_function__"]
        self.own_bias = _bias_of(self.original)
        torch.nn.functional.scaled_dot_product_attention = self.function
        CausalBias.__torch_function__ = self.own_bias

    @classmethod
    def instead_of(cls, name, use):
        """A new function for each use, so that compiled code is compiled anew; None without one."""
        if name is not None and not name.take_off() and use is not None:
            name.use = use
            return name
        return cls(use) if use is not None else None

    def take_off(self):
        self.use = None
        if CausalBias.__dict__["__torch_function__"] is self.own_bias:
            CausalBias.__torch_function__ = self.bias
        if torch.nn.functional.scaled_dot_product_attention is not self.function:
            return False
        torch.nn.functional.scaled_dot_product_attention = self.original
        return True


def _bias_of(original):
    """CausalBias knows SDPA by the name that is replaced: this one knows the function itself, too."""
    inherited = CausalBias.__torch_function__

    def torch_function(cls, func, types, args=(), kwargs=None):
        if func is original:
            return cls._dispatch(*args, **(kwargs or {}))
        return inherited(func, types, args, kwargs)

    return classmethod(torch_function)


def _replacement(name):
    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, scale=None, enable_gqa=False):  # fmt: skip
        others = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 has no such argument
        given = query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        if name.use is not None:
            if isinstance(attn_mask, CausalBias):
                return CausalBias._dispatch(query, key, value, attn_mask, dropout_p, is_causal, scale,
                                            **others)  # fmt: skip
            served = _served_call(name.use, *given)
            if served is not None:
                return served
        return name.original(query, key, value, attn_mask=attn_mask, dropout_p=dropout_p,
                             is_causal=is_causal, scale=scale, **others)  # fmt: skip

    return scaled_dot_product_attention


def _served_call(use, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """The kernels' result for a call that would not reach the overridden operators, or, with
    over="name", for any call that they serve. Else None."""
    is_alone, is_compiling = use.over == "name", torch.compiler.is_compiling()
    accumulator = use.accumulator if is_compiling else sdpa.accumulator()
    if _nested.is_kind(query):
        is_ours = is_alone or _nested.passes_by_kernels(query, key, is_causal, enable_gqa)
        if not is_ours or is_compiling:  # which keeps to PyTorch's way
            return None
        reason = _nested.why_not(query, key, value, attn_mask, dropout_p, scale, enable_gqa, accumulator)
        if reason is None:
            return _nested.attend(query, key, value, dropout_p, is_causal, scale, accumulator)
        _sdpa_operator.note(reason)
        return None
    if not is_alone and not _sdpa_operator.passes_by_kernels(query, key, enable_gqa):
        return None
    reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, accumulator)
    if reason is None:
        return _sdpa_operator.attend(query, key, value, dropout_p, is_causal, scale, accumulator)
    if is_alone:  # else the operator tells
        _sdpa_operator.note(reason)
    return None


sdpa = _Sdpa()
