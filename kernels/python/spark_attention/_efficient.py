"""aten::_efficient_attention_forward and _backward by these kernels, where they can: the operators that
PyTorch's SDPA takes on a V100, as do causal_lower_right, nested tensors and xformers. What the
kernels do not serve goes to the kernel that was there before.

Results are as that kernel's: lse is [batch, heads, seqlen_q rounded up to 32], +inf after the last
row, and dropout multiplies what it keeps by 1 / (1 - dropout_p). But dropout is repeated by who drew
it, so what the forward pass returns as Philox's offset tells the backward pass whose it is; and the
backward pass stays registered when the forward pass is given back.
"""

import contextlib
import functools
import warnings

import torch

from . import _direct, _ledger, _library, _ops, _padded_lse, _served, _varlen

FORWARD, BACKWARD = "_efficient_attention_forward", "_efficient_attention_backward"
# CustomMaskType of PyTorch's kernel (aten/.../transformers/cuda/mem_eff_attention).
_FROM_TOP_LEFT = 1  # which is ours where q and k are of one length
_MASKS = {0: "full", _FROM_TOP_LEFT: "causal", 2: "causal"}

# The offset that a forward pass returns marks it as ours, and names its accumulator, which the backward
# pass must use too. If the seed is in host memory: offsets that PyTorch's generator, which counts in
# fours, never has. If it is on the GPU, as in CUDA graphs and without dropout: a scalar at a storage
# offset of its own, aligned to 16 bytes as compiled code requires.
_MARKS = {name: torch.tensor(0x5350_4152_4B41 + i, dtype=torch.int64)
          for i, name in enumerate(("fp32", "fp16"))}  # fmt: skip
_PLACES = {"fp32": 2, "fp16": 4}
_marks = {}  # by device and accumulator


def _accumulator_of(offset):
    """Of the forward pass that returned this offset; None where that was not ours."""
    if offset.is_cuda:
        return next((name for name, place in _PLACES.items() if offset.storage_offset() == place), None)
    return next((name for name, mark in _MARKS.items() if offset.item() == mark.item()), None)


def _new_mark(device, accumulator):
    place = _PLACES[accumulator]
    return torch.empty(place + 1, dtype=torch.int64, device=device)[place]


def _seed_and_offset(q, dropout_p, accumulator):
    if q.is_cuda and torch.cuda.is_current_stream_capturing():
        mark = _new_mark(q.device, accumulator)
        return (_ops.draw_seed(q) if dropout_p > 0 else _new_mark(q.device, accumulator)), mark
    if dropout_p > 0:
        return torch.tensor(_ops.draw_number(q), dtype=torch.int64), _MARKS[accumulator]
    if not q.is_cuda:
        return _MARKS[accumulator], _MARKS[accumulator]
    key = q.device, accumulator
    if key not in _marks:
        _marks[key] = _new_mark(*key)
    return _marks[key], _marks[key]


class _Seam:
    """What is registered, of one process."""

    def __init__(self):
        self.accumulator_of_thread = lambda: "fp32"
        self.entered = 0  # how often a call arrived, for the test of whether they do
        self.old = {}  # by (operator, dispatch key): None where there is none
        self.forward = self.backward = None
        self.tested = set()  # GPUs

    def register(self):
        keys = ["CPU", "CUDA"] if torch.cuda.is_available() else ["CPU"]
        for key in keys:
            for name in (FORWARD, BACKWARD):
                if (name, key) not in self.old:
                    self.old[name, key] = _kernel_of(name, key)
        self.forward = _library_of(FORWARD, self._run_forward, keys)
        if self.backward is None:
            self.backward = _library_of(BACKWARD, self._run_backward, keys)

    def give_back(self):
        self.forward._destroy()
        self.forward = None

    def _run_forward(self, keys, *arguments, **others):
        self.entered += 1
        served, reason = _forward(self.accumulator_of_thread(), *arguments, **others)
        if served is not None:
            return served
        return self._leave(FORWARD, reason, keys, *arguments, **others)

    def _run_backward(self, keys, *arguments, **others):
        self.entered += 1
        served = _backward(*arguments, **others)
        if served is not None:
            return served
        return self._call_old(BACKWARD, keys, *arguments, **others)

    def _leave(self, name, reason, keys, *arguments, **others):
        _ledger.note(f"left to PyTorch: {reason}")
        if self.old[name, _key_of(arguments[0])] is None:
            raise _library.UnsupportedError(f"{reason}, and PyTorch has no {name} for the CPU")
        return self._call_old(name, keys, *arguments, **others)

    def _call_old(self, name, keys, *arguments, **others):
        return self.old[name, _key_of(arguments[0])].call_boxed(keys, *arguments, **others)


def _key_of(tensor):
    return "CUDA" if tensor.is_cuda else "CPU"


def _kernel_of(name, key):
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
        return None
    return torch.library.get_kernel(f"aten::{name}", key)


def _library_of(name, function, keys):
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():  # that a kernel is overridden, which is what we want
        warnings.simplefilter("ignore")
        for key in keys:
            library.impl(name, function, key, with_keyset=True, allow_override=True)
    return library


seam = _Seam()


# --- Which calls are served. By shapes only, so that equal calls ask once.


@functools.lru_cache(4096)
def _of_shapes(q, k, v, dtypes, device, mask_type, is_varlen, accumulator):
    """(mask, None), or (None, why not)."""
    reason = _served.why_not_of(q, k, v, dtypes, device, accumulator)
    if reason is not None:
        return None, reason
    if 0 in q or 0 in k:
        return None, "an empty tensor"
    if mask_type == _FROM_TOP_LEFT and q[1] != k[1] and not is_varlen:
        return None, "is_causal with other lengths of q and k: PyTorch's begins at the first key"
    if mask_type not in _MASKS:
        return None, f"mask type {mask_type}"
    mask = _MASKS[mask_type]
    of = _ops.problem_of_shapes(q, k, device, accumulator, mask=mask.encode())
    reason = _library.why_unsupported_passes(of, is_varlen)
    return (mask, None) if reason is None else (None, reason)


def _are_same(a, b):
    return a.shape == b.shape and a.data_ptr() == b.data_ptr() and a.stride() == b.stride()


def _decide(accumulator, q, k, v, bias, cu_seqlens_q, cu_seqlens_k, dropout_p, mask_type, scale,
            seqlen_k, window_size):  # fmt: skip
    """(mask, None), or (None, why not)."""
    if bias is not None:
        return None, "attn_mask is given"
    if seqlen_k is not None or window_size is not None:
        return None, "seqlen_k or window_size is given"
    reason = _served.why_not_numbers(dropout_p, scale)
    if reason is not None:
        return None, reason
    is_varlen = cu_seqlens_q is not None
    if is_varlen and mask_type == _FROM_TOP_LEFT and not _are_same(cu_seqlens_q, cu_seqlens_k):
        return None, ("causal sequences whose lengths of q and k are two tensors: PyTorch's mask "
                      "begins at the first key of each")  # fmt: skip
    return _of_shapes(q.shape, k.shape, v.shape, (q.dtype, k.dtype, v.dtype), q.device, mask_type,
                      is_varlen, accumulator)  # fmt: skip


def _asked(mask, dropout_p, scale, accumulator):
    """The arguments of options_of()."""
    return (False, mask, dropout_p, "asked", scale, accumulator,
            torch.are_deterministic_algorithms_enabled())  # fmt: skip


def _options(mask, dropout_p, scale, accumulator):
    return (dropout_p, "asked", scale or 0.0, mask, accumulator,
            torch.are_deterministic_algorithms_enabled())  # fmt: skip


# --- The operators, by their schemas in native_functions.yaml.


def _forward(accumulator, query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
             max_seqlen_k, dropout_p, custom_mask_type, compute_log_sumexp=False, *unknown,
             scale=None, seqlen_k=None, window_size=None, **others):  # fmt: skip
    """(results, None), or (None, why not)."""
    if unknown or others:
        return None, f"an argument of a later PyTorch: {[*unknown, *others]}"
    mask, reason = _decide(accumulator, query, key, value, bias, cu_seqlens_q, cu_seqlens_k,
                           dropout_p, custom_mask_type, scale, seqlen_k, window_size)  # fmt: skip
    if reason is not None:
        return None, reason
    seed, offset = _seed_and_offset(query, dropout_p, accumulator)
    of_call = seed if dropout_p > 0 else None
    if cu_seqlens_q is None:
        max_seqlen_q, max_seqlen_k = query.shape[1], key.shape[1]
        out, lse = _direct.forward(query, key, value, of_call,
                                   _asked(mask, dropout_p, scale, accumulator))  # fmt: skip
        lse = _padded_lse.padded(lse) if compute_log_sumexp else lse.new_empty(*lse.shape[:2], 0)
    else:
        options = _options(mask, dropout_p, scale, accumulator)
        out, lse = _varlen.without_sinks(query[0], key[0], value[0], cu_seqlens_q, cu_seqlens_k,
                                         of_call, *options)  # fmt: skip
        out = out.unsqueeze(0)
        if compute_log_sumexp:
            lse = _padded_lse.by_sequence(lse, cu_seqlens_q, max_seqlen_q)
        else:
            lse = lse.new_empty(cu_seqlens_q.shape[0] - 1, lse.shape[0], 0)
    return (out, lse, seed, offset, max_seqlen_q, max_seqlen_k), None


def _backward(grad_out, query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k,
              max_seqlen_q, max_seqlen_k, logsumexp, dropout_p, philox_seed, philox_offset,
              custom_mask_type, bias_requires_grad, *, scale=None, num_splits_key=None,
              window_size=None, shared_storage_dqdkdv=False):  # fmt: skip
    """(dq, dk, dv, None); None where the forward pass was not ours."""
    accumulator = _accumulator_of(philox_offset)
    if accumulator is None:
        return None
    if bias_requires_grad and bias is None:  # as PyTorch's kernel has it
        raise RuntimeError("bias_requires_grad is true but no bias was provided")
    mask, reason = _decide(accumulator, query, key, value, bias, cu_seqlens_q, cu_seqlens_k,
                           dropout_p, custom_mask_type, scale, None, window_size)  # fmt: skip
    if reason is not None:
        raise _library.UnsupportedError(f"the backward pass of attention that ran here: {reason}")
    seed = philox_seed if dropout_p > 0 else None
    if cu_seqlens_q is None:
        lse = logsumexp[..., : query.shape[1]].contiguous()
        gradients = _direct.backward(grad_out, query, key, value, out, lse, seed,
                                     _asked(mask, dropout_p, scale, accumulator))  # fmt: skip
    else:
        lse = _padded_lse.by_row(logsumexp, cu_seqlens_q, query.shape[1])
        gradients = _varlen._backward(
            grad_out[0], query[0], key[0], value[0], out[0], lse, cu_seqlens_q, cu_seqlens_k, seed,
            *_options(mask, dropout_p, scale, accumulator),
        )  # fmt: skip
        gradients = [gradient.unsqueeze(0) for gradient in gradients]
    if shared_storage_dqdkdv:  # slices of one tensor, as the projection before has them
        gradients = torch.stack(list(gradients), -3).unbind(-3)
    return (*gradients, None)


# --- Whether PyTorch's SDPA gets here.


def install(accumulator_of_thread):
    """Raises RuntimeError with the reason where calls of SDPA on this machine's GPU do not arrive."""
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(
            f"sa.sdpa: PyTorch {torch.__version__} cannot hand calls back to the kernel that it "
            "overrides; PyTorch 2.9 or later can, or install(over='name') replaces the name in "
            "torch.nn.functional alone"
        )
    if torch.cuda.is_available() and not torch.backends.cuda.mem_efficient_sdp_enabled():
        raise RuntimeError(
            "sa.sdpa: PyTorch's memory-efficient attention, whose operator is overridden, is "
            "switched off; torch.backends.cuda.enable_mem_efficient_sdp(True) switches it on"
        )
    seam.accumulator_of_thread = accumulator_of_thread
    seam.register()
    if torch.cuda.is_available() and torch.cuda.current_device() not in seam.tested:
        try:
            with _ledger.unchanged(), torch.enable_grad(), torch.autocast("cuda", enabled=False):
                _test_itself()
        except BaseException:
            seam.give_back()
            raise
        seam.tested.add(torch.cuda.current_device())
        _warn_of_other_choice()


def _test_itself():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    values = torch.linspace(-1, 1, 64 * 40, device="cuda").view(1, 1, 40, 64)
    q = values.half().requires_grad_()
    run = torch._C._nn.scaled_dot_product_attention
    before = seam.entered
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        out = run(q, q, q, is_causal=True)
        (gradient,) = torch.autograd.grad(out, q, torch.ones_like(out))
    if seam.entered != before + 2:
        raise RuntimeError(
            f"sa.sdpa: PyTorch {torch.__version__}'s SDPA does not reach the operator that is "
            f"overridden ({seam.entered - before} of 2 passes did); install(over='name') replaces "
            "the name in torch.nn.functional alone"
        )
    exact = q.detach().float().requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        want = run(exact, exact, exact, is_causal=True)
        (want_gradient,) = torch.autograd.grad(want, exact, torch.ones_like(want))
    for name, got, wanted in (("output", out, want), ("gradient", gradient, want_gradient)):
        error = (got.float() - wanted).abs().max().item()
        if not error < 2e-2 * max(1.0, wanted.abs().max().item()):
            raise RuntimeError(f"sa.sdpa: the {name} through PyTorch's SDPA is off by {error}")


def _warn_of_other_choice():
    """Newer GPUs have other kernels, which SDPA prefers: that is well, and told."""
    from torch.nn.attention import SDPBackend

    q = torch.empty(1, 1, 64, 64, dtype=torch.float16, device="cuda")
    with contextlib.suppress(AttributeError):
        choice = torch._fused_sdp_choice(q, q, q)
        if choice != SDPBackend.EFFICIENT_ATTENTION.value:
            names = {backend.value: name for name, backend in SDPBackend.__members__.items()}
            warnings.warn(
                f"sa.sdpa: PyTorch takes {names.get(choice, choice)} on this GPU, so calls reach the "
                "kernels only within torch.nn.attention.sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)",
                stacklevel=4,
            )
