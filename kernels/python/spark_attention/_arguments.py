"""What arguments may be besides arrays, for PyTorch, JAX and NumPy alike. Numbers, flags and texts become
Python's own on entry: calls are kept by their arguments, and what may change in place must not be part of
that. Errors name the argument, what it was and what is allowed.
"""

import difflib
import math
import warnings

TRANSPOSE = (
    "If the tensors are [batch, heads, seqlen, head_dim], as scaled_dot_product_attention takes them, "
    "pass x.transpose(1, 2), which copies nothing"
)

# The normal range of float32, which the library takes.
_LEAST_SCALE, _MOST_SCALE = 2.0**-126, 2.0**128 - 2.0**104

_MASK = ("a text, 'causal' or 'window:128' (kernels/mask/README.md). PyTorch's "
         "scaled_dot_product_attention takes masks in tensors, and attention_varlen() padded "
         "sequences")  # fmt: skip
_NO_TENSOR = f"mask, {_MASK}"
_WINDOW = "mask='window:W', which shows W keys, the row's own included"
_NO_LENGTH = "cu_seqlens_q and cu_seqlens_k; the kernels find the longest sequence"
_OTHER_NAMES = {
    "is_causal": "causal", "softmax_scale": "scale", "sm_scale": "scale", "scaling": "scale",
    "dropout": "dropout_p", "dropout_rate": "dropout_p", "s_aux": "sinks", "attn_mask": _NO_TENSOR,
    "attention_mask": _NO_TENSOR, "key_padding_mask": _NO_TENSOR, "attn_bias": _NO_TENSOR,
    "bias": _NO_TENSOR, "window_size": _WINDOW, "sliding_window": _WINDOW,
    "local_window_size": _WINDOW, "return_softmax_lse": "return_lse", "need_weights": "return_lse",
    "return_attn_probs": "return_lse, or flash_attn_func()",
    "enable_gqa": "k and v of fewer heads than q, without a flag",
    "clear": "reset", "max_seqlen_q": _NO_LENGTH, "max_seqlen_k": _NO_LENGTH,
}  # fmt: skip


def refuse_unknown(function, unknown, names, other_names=_OTHER_NAMES):
    """Raises TypeError for arguments of other functions, with the name that they have here."""
    for name in unknown:
        close = difflib.get_close_matches(name, names, 1)
        instead = other_names.get(name) or (close[0] if close else ", ".join(names))
        raise TypeError(f"{function}() has no argument {name!r}; allowed: {instead}")


def number_of(name, value, allowed="a Python number"):
    """A Python number. A tensor or an array gives the value that it has now, for which the host waits."""
    if type(value) is float or type(value) is int:
        return value
    refused = TypeError(f"{name} is {_described(value)}; allowed: {allowed}")
    if isinstance(value, (str, bytes)) or getattr(value, "shape", ()) != ():
        raise refused
    if getattr(value, "requires_grad", False):
        raise TypeError(f"{name} is a tensor that requires a gradient, which it cannot have here; "
                        "allowed: a Python number")  # fmt: skip
    try:
        return float(value)
    except Exception as error:  # traced or mapped values have errors of their own
        raise refused from error


def flag_of(name, value):
    if type(value) is bool:
        return value
    number = number_of(name, value, "True, False")
    if number not in (0, 1):
        raise ValueError(f"{name} is {number}; allowed: True, False")
    return bool(number)


def text_of(name, value, allowed):
    if not isinstance(value, str):
        raise TypeError(f"{name} is {_described(value)}; allowed: {allowed}")
    if "\0" in value:  # where C's texts end
        raise ValueError(f"{name} is {value!r}, which has a zero byte")
    return str(value)


def check_like(name, tensor, shape, dtype, device):
    """Raises unless a tensor is as another that it belongs to."""
    for what, got, want, error in (("shape", tuple(tensor.shape), tuple(shape), ValueError),
                                   ("dtype", tensor.dtype, dtype, TypeError),
                                   ("device", tensor.device, device, ValueError)):  # fmt: skip
        if got != want:
            raise error(f"{name} has {what} {got}; allowed: {want}")


def why_not_heads(q, k):
    """The error for shapes whose heads of k do not divide those of q."""
    text = f"k has {k[2]} heads, and q {q[2]}: the former divide the latter"
    return f"{text}. {TRANSPOSE}" if k[1] > 0 and q[1] % k[1] == 0 else text


def mask_text_of(mask):
    return text_of("mask", mask, _MASK)


def _described(value):
    shape = getattr(value, "shape", ())
    of_shape = f" of shape {tuple(shape)}" if shape else ""
    return f"a {type(value).__name__}{of_shape}"


def scale_of(scale):
    """0.0 for the default. What float32 makes 0 or infinite is refused."""
    if scale is None:
        return 0.0
    number = number_of("scale", scale)
    if not _LEAST_SCALE <= number <= _MOST_SCALE:
        raise ValueError(f"scale is {number}; allowed: above 0 and normal in float32 (1.2e-38 to "
                         "3.4e38), or None for 1 / sqrt(head_dim)")  # fmt: skip
    return float(number)


def dropout_of(dropout_p):
    """The library takes float32, where a p just below 1 is 1."""
    number = number_of("dropout_p", dropout_p)
    if not 0 <= number < 1 - 2.0**-25:
        raise ValueError(f"dropout_p is {number}; allowed: at least 0 and below 1")
    return float(number)


def mask_of(causal, mask):
    """The text of the two arguments."""
    if mask is None:
        return "causal" if flag_of("causal", causal) else "full"
    text = mask_text_of(mask)
    if flag_of("causal", causal):
        raise ValueError(f"causal is True, and mask is {mask!r}; allowed: one of them")
    return text


MOST_HEADS = 64  # that warn_of_layout() takes for heads; models with more are few
_was_layout_warned_of = False


class LayoutWarning(UserWarning):
    """Tensors look like [batch, heads, seqlen, head_dim]."""


def is_heads_first(q, k):
    """Whether shapes look like [batch, heads, seqlen, head_dim]. Axis 1 is then heads: fewer than
    there are rows, and those of k divide those of q. Axis 2 is lengths, above MOST_HEADS in both.
    Shorter lengths are not reported: a prompt of 16 tokens in a model of 32 heads has such a shape."""
    return min(q[2], k[2]) > MOST_HEADS and q[1] < q[2] and k[1] > 0 and q[1] % k[1] == 0


def warn_of_layout(q, k, stacklevel=3):
    """Warns once in a process, by shapes."""
    global _was_layout_warned_of
    if _was_layout_warned_of or not (len(q) == len(k) == 4 and is_heads_first(q, k)):
        return
    warnings.warn(
        f"q of shape {tuple(q)} has seqlen {q[1]} and {q[2]} heads: spark_attention reads [batch, "
        f"seqlen, heads, head_dim]. {TRANSPOSE}. This warning comes once; warnings.simplefilter("
        "'ignore', spark_attention.LayoutWarning) silences it",
        LayoutWarning,
        stacklevel=stacklevel,
    )
    _was_layout_warned_of = True


def applied_dropout(dropout_p):
    """The p that the kernels apply: the nearest of 256 (kernels/problem/dropout.h)."""
    return min(math.floor(dropout_p * 256 + 0.5), 255) / 256
