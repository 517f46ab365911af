"""Hugging Face transformers with these kernels, from transformers 4.57 on:

    import spark_attention.transformers
    spark_attention.transformers.register()
    model = AutoModel.from_pretrained(..., attn_implementation="spark", dtype=torch.float16)

"spark" sums in FP32, "spark_fp16acc" in FP16, and "spark_bf16cast" takes bfloat16 by a checked cast
(attention()'s bf16="cast"). Padding on the left and on the right, sliding windows, shared key heads,
learned sinks (gpt-oss) and caches are served. What is not (another dtype or head_dim, masks of other
shapes) goes to PyTorch's SDPA with the same mask and sinks; a warning tells it once, explain() always.
"""

import functools
import operator
import warnings

import torch
from transformers import masking_utils  # here: compiled code cannot import a module that loads lazily

from . import _ledger, _library, _served, _transforms
from ._attention import unguarded as attention
from ._varlen import attention_varlen

# The arguments of attention() by name.
NAMES = {
    "spark": {"accumulator": "fp32", "bf16": "refuse"},
    "spark_fp16acc": {"accumulator": "fp16", "bf16": "refuse"},
    "spark_bf16cast": {"accumulator": "fp32", "bf16": "cast"},
}

# PyTorch's SDPA made NaN of rows without keys, which later layers spread; padding is such rows.
_EMPTY_ROWS_ARE_NAN = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5)


def register():
    """Makes the names known to transformers. Again is no harm."""
    from transformers import AttentionInterface

    for name, options in NAMES.items():
        _served.prepare(options["accumulator"])
        AttentionInterface.register(name, functools.partial(attend, **options))
        masking_utils.AttentionMaskInterface.register(name, mask_of)


def mask_of(batch_size, q_length=None, kv_length=None, q_offset=0, kv_offset=0, mask_function=None,
            attention_mask=None, local_size=None, cache_position=None, **others):  # fmt: skip
    """What transformers hands to attend() as its mask: None where the kernels know it without, a
    boolean [batch, kv_length] of padding, or a dense one of SDPA's. Where rows stand is told by
    q_length and q_offset, or by older ones as cache_position, for which the host waits."""
    rows = {"q_length": q_length, "q_offset": q_offset}
    if cache_position is not None:
        rows = {"cache_position": cache_position}
        q_length, q_offset = len(cache_position), int(cache_position[0])
    is_aligned = isinstance(q_offset, int) and q_offset + q_length == kv_offset + kv_length
    bidirectional = getattr(masking_utils, "bidirectional_mask_function", masking_utils)  # or none
    is_known = mask_function is bidirectional or (
        is_aligned and (mask_function is masking_utils.causal_mask_function
                        or _is_sliding_window(mask_function)))  # fmt: skip
    is_of_all_keys = attention_mask is None or attention_mask.shape[-1] >= kv_offset + kv_length
    if not is_known or not is_of_all_keys:
        return masking_utils.sdpa_mask(
            batch_size=batch_size, kv_length=kv_length, kv_offset=kv_offset,
            mask_function=mask_function, attention_mask=attention_mask, local_size=local_size,
            **{**rows, **others, "allow_is_causal_skip": False},
        )  # fmt: skip
    if attention_mask is None:
        return None
    # Columns are positions of the sequence, of which the cache may have lost the first.
    return _Padding.mask_of(attention_mask[:, kv_offset : kv_offset + kv_length])


class _Padding:
    """Where each sample's keys begin and end, and what a model's layers make of that."""

    def __init__(self, mask):
        """One wait for the GPU."""
        edges = torch.nn.functional.pad(mask.to(torch.int8), (1, 1)).diff(dim=1)
        positions = torch.arange(edges.shape[1], device=edges.device)
        summary = torch.stack([(edges == 1).sum(1), (edges.clamp(min=0) * positions).sum(1),
                               (edges.clamp(max=0) * -positions).sum(1)])  # fmt: skip
        counts, begins, ends = summary.tolist()
        self.is_of_runs = all(count <= 1 for count in counts)
        self.runs, self.keys = list(zip(begins, ends)), mask.shape[1]
        self.lengths = {}  # by rows and is_causal

    @classmethod
    @torch.compiler.disable
    def mask_of(cls, mask):
        """None where nothing is masked; else a copy that only transformers has, so it keeps what was
        found out. A version of it counts changes, which tensors of inference mode do not."""
        with torch.inference_mode(False):
            mask = mask.bool().clone()
        found = cls(mask)
        if found.is_of_runs and all(run == (0, found.keys) for run in found.runs):
            return None
        mask._spark_padding = mask._version, found
        return mask

    @classmethod
    def of(cls, mask):
        """Of masks that are not mask_of()'s, or were changed since, it is found out each time."""
        version, found = getattr(mask, "_spark_padding", (None, None))
        return found if version is not None and mask._version == version else cls(mask)

    def lengths_of(self, rows, is_causal, device):
        if (rows, is_causal) not in self.lengths:
            self.lengths[rows, is_causal] = _find_lengths(self.runs, rows, self.keys, is_causal, device)
        return self.lengths[rows, is_causal]


def _is_sliding_window(mask_function):
    """By what transformers makes it of: chunks come with the same arguments. If that changes, windows
    get dense masks, which are right too."""
    cells = [cell.cell_contents for cell in getattr(mask_function, "__closure__", None) or ()]
    parts = [getattr(part, "__qualname__", "") for cell in cells if isinstance(cell, tuple)
             for part in cell]  # fmt: skip
    return parts == ["sliding_window_overlay.<locals>.inner_mask", "causal_mask_function"]


def attend(module, query, key, value, attention_mask, *arguments, **others):
    """An AttentionInterface: query is [batch, heads, seqlen_q, head_dim], s_aux attention()'s sinks;
    gives (out, None), out with heads behind rows. Compiled code calls it as it is where there is
    padding, whose lengths it cannot know."""
    is_padded = attention_mask is not None and attention_mask.dim() == 2
    run = _attend_uncompiled if is_padded else _attend
    return run(module, query, key, value, attention_mask, *arguments, **others)


def _attend(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None,
            sliding_window=None, s_aux=None, *, accumulator, bf16, **others):  # fmt: skip
    if others.get("softcap") is not None:
        raise _library.UnsupportedError("softcap is given; supported: None")
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    window = operator.index(sliding_window) if is_causal and sliding_window is not None else None
    options = {"dropout_p": dropout, "scale": scaling, "accumulator": accumulator,
               "bf16": bf16, "sinks": s_aux,
               "mask": f"window:{window}" if window else "causal" if is_causal else "full"}  # fmt: skip
    padding = None if attention_mask is None else _padding_of(attention_mask, query, key)
    q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    reason = _transforms.why_left_to_pytorch(q, k, v) or _served.why_not(q, k, v, accumulator, bf16)
    if others.get("position_bias") is not None:
        if s_aux is not None:
            raise _library.UnsupportedError("position_bias and s_aux are given; supported: one of them")
        reason = "position_bias is given"
    if sliding_window is not None and not is_causal:
        reason = "a sliding window to both sides"
    if attention_mask is not None and padding is None:
        reason = "a mask that is no padding on the left or right"
    if reason is not None:
        return _by_sdpa(reason, module, query, key, value, attention_mask, dropout=dropout,
                        scaling=scaling, is_causal=is_causal, window=window, sinks=s_aux,
                        **others)  # fmt: skip
    sees_padding = padding is not None and not (
        is_causal and q.shape[1] == k.shape[1] and all(begin == 0 for begin, _ in padding.runs)
    )
    if not sees_padding:
        return attention(q, k, v, **options), None
    return _packed(q, k, v, padding, is_causal, options), None


_attend_uncompiled = torch.compiler.disable(_attend)


def _padding_of(mask, query, key):
    """None unless it is a mask of [batch, keys] with one run of keys for each sample."""
    if mask.dim() != 2:
        return None
    shape = query.shape[0], key.shape[2]
    if tuple(mask.shape) != shape:
        raise ValueError(f"attention_mask has shape {tuple(mask.shape)}; allowed: {shape}, a column for "
                         "each key, or 4 dimensions")  # fmt: skip
    padding = _Padding.of(mask)
    return padding if padding.is_of_runs else None


def _packed(q, k, v, padding, is_causal, options):
    """One call: each sample's keys, and the rows that see them, are a sequence, and what is before
    and behind are sequences without the other side, whose results are zeros."""
    lengths = padding.lengths_of(q.shape[1], is_causal, q.device)
    out = attention_varlen(*(tensor.flatten(0, 1) for tensor in (q, k, v)), *lengths, **options)
    return out.unflatten(0, q.shape[:2])


def _find_lengths(runs, rows, keys, is_causal, device):
    lengths = [(0, 0)]
    for begin, end in runs:
        first, last = 0, rows
        if is_causal:  # the last row stands at the last key
            first, last = (max(bound - (keys - rows), 0) for bound in (begin, end))
        lengths += [(first, 0), (0, begin), (last - first, end - begin), (rows - last, 0),
                    (0, keys - end)]  # fmt: skip
    offsets = torch.tensor(lengths, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    return offsets.T.contiguous().to(device).unbind(0)


@functools.cache
def _warn_once(reason):
    warnings.warn(f"spark_attention leaves attention to PyTorch: {reason}", stacklevel=4)


def _by_sdpa(reason, module, query, key, value, mask, *, is_causal, window, sinks, **others):
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    _warn_once(reason)
    _ledger.note(f"left to PyTorch: {reason}")
    if mask is None or mask.dim() == 2:
        mask = _dense(query, key, mask, is_causal, window)
        is_causal = False
    if sinks is not None:
        key, value = (torch.nn.functional.pad(tensor, (0, 0, 0, 1)) for tensor in (key, value))
        mask = _with_sinks(mask, sinks, query)
    return sdpa_attention_forward(module, query, key, value, mask, is_causal=is_causal, **others)


def _dense(query, key, padding, is_causal, window):
    """A boolean mask of [batch or 1, 1, seqlen_q, seqlen_k] with the kernels' meaning."""
    rows, keys = query.shape[2], key.shape[2]
    at = torch.arange(rows, device=query.device)[:, None] + keys - rows
    of = torch.arange(keys, device=query.device)[None, :]
    mask = (of <= at) if is_causal else (of >= 0).expand(rows, keys)
    if window is not None:
        mask = mask & (of > at - window)
    mask = mask[None, None]
    if padding is not None:
        mask = mask & padding[:, None, None, :].bool()
    return mask | ~mask.any(-1, keepdim=True) if _EMPTY_ROWS_ARE_NAN else mask


def _with_sinks(mask, sinks, query):
    """Scores to be added, [batch or 1, heads, seqlen_q, seqlen_k + 1]: the mask's, and the sinks of a
    key of zeros behind the others."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -torch.inf)
    shape = mask.shape[0], query.shape[1], query.shape[2]
    column = sinks.to(mask.dtype)[:, None, None].expand(*shape, 1)
    return torch.cat([mask.expand(*shape, -1), column], -1)
