"""attention() and what tells of it."""

import torch

from . import (
    _arguments,
    _bf16,
    _direct,
    _ledger,
    _library,
    _ops,
    _options,
    _served,
    _sinks,
    _transforms,
    _varlen,
)


def attention(q, k, v, *, causal=False, mask=None, dropout_p=0.0, scale=None, accumulator="fp32",
              deterministic=None, return_lse=False, dropout_scale="applied",
              bf16="refuse", sinks=None, **unknown):  # fmt: skip
    """softmax(scale Q K^T + mask) V, with dropout; differentiable in q, k, v and sinks.

    q is [batch, seqlen_q, heads, head_dim], k and v [batch, seqlen_k, heads_k, head_dim], heads_k
    divides heads. fp16, on a GPU or, on the emulated V100, on the CPU; under autocast to float16 fp32
    and bf16 become fp16. Views are read in place.

    causal       row q sees the keys up to q + seqlen_k - seqlen_q
    mask         instead: "window:W", "band:L:R", "prefix:P", or a pattern,
                 "window:128+causal-strided:128" (kernels/mask/README.md), which is prepared once for
                 these lengths; a file that it names is read then
    dropout_p    of an element of the softmax; the mask is drawn from the device's default generator
    scale        1 / sqrt(head_dim) unless given
    accumulator  "fp32" or "fp16". Passes whose sums in FP16 overflow are computed again in FP32;
                 fp16_counts() tells how many
    deterministic  gradients have the same bits each time; None: as torch's own flag says
    dropout_scale  of what is kept: "applied", 1 / (1 - p) of the p applied in 256ths, or "asked",
                 1 / (1 - dropout_p), which is FlashAttention's
    bf16         of bfloat16 tensors: "refuse", or "cast" to fp16, and out and gradients back;
                 bf16_counts() tells how many numbers fp16 could not hold
    sinks        [heads], fp32, fp16 or bf16: a key more for each head, with this score, which is not
                 scaled, and the value zero, as gpt-oss has it. Each row sees it
    return_lse   (out, lse); lse is [batch, heads, seqlen_q], fp32, and -inf where a row sees no key.
                 Sinks are keys of it

    Errors: ValueError, TypeError, UnsupportedError, NoDeviceCodeError; each names what was wrong.
    LayoutWarning, once: shape[2] of q and of k is above 64 and above shape[1], as it is of tensors in
    SDPA's layout, [batch, heads, seqlen, head_dim].
    """
    if unknown:
        _arguments.refuse_unknown("attention", unknown, _options.NAMES)
    _ops.require_tensors(q=q, k=k, v=v)
    shape = q.shape
    if len(shape) == 4 and shape[2] > _arguments.MOST_HEADS and not torch.compiler.is_compiling():
        _arguments.warn_of_layout(shape, k.shape)
    return unguarded(q, k, v, causal=causal, mask=mask, dropout_p=dropout_p, scale=scale,
                     accumulator=accumulator, deterministic=deterministic, return_lse=return_lse,
                     dropout_scale=dropout_scale, bf16=bf16, sinks=sinks)  # fmt: skip


def unguarded(q, k, v, *, causal=False, mask=None, dropout_p=0.0, scale=None, accumulator="fp32",
              deterministic=None, return_lse=False, dropout_scale="applied", bf16="refuse",
              sinks=None):  # fmt: skip
    """attention() for callers who know their layout, as transformers does."""
    asked = causal, mask, dropout_p, dropout_scale, scale, accumulator, deterministic, sinks
    if bf16 != "refuse":
        return _bf16.around(bf16, return_lse, q, k, v, lambda *tensors: attend(*tensors, *asked))
    out, lse, _ = attend(q, k, v, *asked)
    return (out, lse) if return_lse else out


def attend(q, k, v, causal, mask, dropout_p, dropout_scale, scale, accumulator, deterministic,
           sinks=None):  # fmt: skip
    """(out, lse, seed): attention() of the arguments of options_of(), and the seed of its dropout, if
    any."""
    _sinks.check(sinks, q)
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    asked = _options.settled(causal, mask, dropout_p, dropout_scale, scale, accumulator,
                             deterministic)  # fmt: skip
    if _direct.is_open(q, k, v, sinks):
        return _direct.attend(q, k, v, asked, sinks)
    _transforms.refuse_tangents(q, k, v, sinks)
    options = _options.options_of(*asked)
    seed = _ops.draw_seed(q) if options[0] > 0 else None
    return (*torch.ops.spark.forward.default(q, k, v, seed, *options, sinks), seed)


def supports(q, k, v, *, causal=False, mask=None, dropout_p=0.0, scale=None, accumulator="fp32",
             dropout_scale="applied", bf16="refuse", cu_seqlens_q=None,
             cu_seqlens_k=None, sinks=None, **unknown):  # fmt: skip
    """(True, "") where attention() would run, with gradients where an input wants them; else (False,
    the reason). With cu_seqlens_q and cu_seqlens_k, of attention_varlen()."""
    if unknown:
        _arguments.refuse_unknown("supports", unknown, (*_options.NAMES, "cu_seqlens_q", "cu_seqlens_k"))
    is_varlen, dtype_of = cu_seqlens_q is not None, lambda tensor: _served.dtype_of(tensor, bf16)
    try:
        _bf16.check(bf16)
        if is_varlen:
            _varlen.check(q, k, v, cu_seqlens_q, cu_seqlens_k, dtype_of)
        else:
            _ops.check_tensors(q, k, v, dtype_of)
        _sinks.check(sinks, q)
        options = _options.options_of(causal, mask, dropout_p, dropout_scale, scale, accumulator,
                                      False)  # fmt: skip
        batched = (q.unsqueeze(0), k.unsqueeze(0)) if is_varlen else (q, k)
        sequences = cu_seqlens_q.shape[0] - 1 if is_varlen else None
        problem = _ops.problem_of(*batched, None, *options, sequences=sequences)
    except (TypeError, ValueError) as error:
        return False, str(error)
    if q.device.type not in _served.DEVICES:
        return False, f"q is on {q.device}; allowed: {', '.join(_served.DEVICES)}"
    wants_gradient = any(t is not None and t.requires_grad for t in (q, k, v, sinks))
    passes = (_library.FORWARD, _library.BACKWARD) if wants_gradient else (_library.FORWARD,)
    reason = _library.why_unsupported_passes(problem, is_varlen, passes)
    return reason is None, reason or ""


def explain(*, reset=False, **unknown):
    """What ran since the start, or since it was reset, and what was left to PyTorch and why: a
    line each, with how often. reset=True empties the counts after it has read them."""
    if unknown:
        _arguments.refuse_unknown("explain", unknown, ("reset",))
    lines = [f"{count:>6} x {line}" for line, count in _ledger.lines()]
    if reset:
        _ledger.clear()
    return "\n".join(lines) or "nothing ran yet"
