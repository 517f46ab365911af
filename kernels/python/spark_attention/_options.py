"""What attention() and its like are asked for besides tensors, checked."""

import functools
import inspect
import operator

import torch

from . import _arguments, _library

NAMES = ("causal", "mask", "dropout_p", "scale", "accumulator", "deterministic", "return_lse",
         "dropout_scale", "bf16", "sinks")  # fmt: skip
_EVERYTHING = 1 << 29  # further than any key is from any row


def options_of(causal, mask, dropout_p, dropout_scale, scale, accumulator, deterministic):
    """(dropout_p, dropout_scale, scale, mask, accumulator, deterministic), as the operators take
    them, of Python's own types. Raises ValueError or TypeError that names the argument, what it was
    and what is allowed."""
    mask, dropout_p = _arguments.mask_of(causal, mask), _arguments.dropout_of(dropout_p)
    scale = _arguments.scale_of(scale)
    _library.accumulator_of(accumulator)
    _library.dropout_scale_of(dropout_scale)
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    return (dropout_p, str(dropout_scale), scale, mask, str(accumulator),
            _arguments.flag_of("deterministic", deterministic))  # fmt: skip


_PLAIN = frozenset((bool, int, float, str, type(None)))  # which never change


def settled(*asked):
    """The arguments of options_of() as what they are now: none is a tensor that may change. Right or
    wrong, options_of() tells."""
    for value in asked:
        if type(value) not in _PLAIN:
            break
    else:
        return asked
    dropout_p, dropout_scale, scale, mask, accumulator, deterministic = options_of(*asked)
    return False, mask, dropout_p, dropout_scale, scale or None, accumulator, deterministic


_MASK = "causal, window_size, or cu_seqlens_q and cu_seqlens_k of flash_attn_varlen_func()"
_FLASH_NAMES = {
    "is_causal": "causal", "scale": "softmax_scale", "sm_scale": "softmax_scale",
    "scaling": "softmax_scale", "dropout": "dropout_p", "mask": _MASK, "attn_mask": _MASK,
    "attention_mask": _MASK, "key_padding_mask": _MASK, "sliding_window": "window_size",
    "return_lse": "return_attn_probs", "return_softmax_lse": "return_attn_probs",
}  # fmt: skip


def says_names(function):
    """One of FlashAttention's functions, whose error for an unknown argument names the right one."""
    names = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)  # transformers looks for names in the signature
    def checked(*given, **named):
        for name in named:
            if name not in names:
                _arguments.refuse_unknown(function.__name__, [name], names, _FLASH_NAMES)
        return function(*given, **named)

    return checked


def mask_of_window(causal, window_size):
    """The mask of FlashAttention-2's causal and window_size, (keys before, keys after), where -1 is
    all of them and causal allows none after."""
    before, after = window_of(window_size)
    if _arguments.flag_of("causal", causal):
        after = 0
    if before < 0 and after < 0:
        return "full"
    if after == 0:
        return "causal" if before < 0 else f"window:{before + 1}"
    return f"band:{before if before >= 0 else _EVERYTHING}:{after if after >= 0 else _EVERYTHING}"


def window_of(window_size):
    """FlashAttention's two numbers, -1 for all keys: what it makes of negative ones, and of numbers that
    no sequence reaches, such as the largest of int32."""
    try:
        numbers = [operator.index(number) for number in window_size]
    except TypeError:
        numbers = []
    if len(numbers) != 2:
        raise TypeError(f"window_size is {window_size!r}; allowed: two whole numbers, -1 for all keys")
    return [number if 0 <= number < _EVERYTHING else -1 for number in numbers]
