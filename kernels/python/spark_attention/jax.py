"""Attention in JAX, differentiable and under jit, grad and vmap.

    from spark_attention.jax import attention
    out = attention(q, k, v, mask="window:128+causal-strided:128")   # fp16, [batch, seqlen, heads, head_dim]

On the CPU backend the kernels run on an emulated V100, slowly and with the same bits, on a GPU as
they are. The library itself has the handlers of XLA's custom calls (kernels/api/xla.cc), so nothing is
compiled for the JAX that is installed.
"""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy

from . import _arguments, _library, _masks

if not hasattr(jax, "ffi"):
    raise ImportError(f"JAX is {jax.__version__}; allowed: 0.5 or newer, which has jax.ffi")

_PASSES = ("forward", "backward")
_PLATFORMS = {"cpu": "cpu", "CUDA": "cuda"}  # JAX's name, and the library's


def _register():
    for of_pass in _PASSES:
        for platform, name in _PLATFORMS.items():
            handler = _library.xla_handler(name, of_pass)
            jax.ffi.register_ffi_target(f"spark_attention_{of_pass}", jax.ffi.pycapsule(handler),
                                        platform=platform)  # fmt: skip


_register()

# All but the arrays, as they stand in a custom call's attributes.
_Options = collections.namedtuple(
    "_Options", "mask dropout_p dropout_scale softmax_scale accumulator deterministic allow_slow"
)


def attention(q, k, v, *, causal=False, mask=None, dropout_p=0.0, seed=None, scale=None,
              accumulator="fp32", deterministic=False, return_lse=False,
              dropout_scale="applied", sinks=None, **unknown):  # fmt: skip
    """softmax(scale Q K^T + mask) V, with dropout; differentiable in q, k, v and sinks, once.

    q is [batch, seqlen_q, heads, head_dim], k and v [batch, seqlen_k, heads_k, head_dim], heads_k
    divides heads; float16.

    causal       row q sees the keys up to q + seqlen_k - seqlen_q
    mask         instead: "window:W", "band:L:R", "prefix:P", or a pattern,
                 "window:128+causal-strided:128" (kernels/mask/README.md)
    dropout_p    of an element of the softmax, a Python number; wants a seed
    seed         a whole number, an array of one, a uint32 array of its lower and upper half, or a key
                 of jax.random. The same seed drops the same elements, on each device
    scale        1 / sqrt(head_dim) unless given
    accumulator  "fp32" or "fp16"
    deterministic  gradients have the same bits each time
    return_lse   (out, lse); lse is [batch, heads, seqlen_q], float32, has no gradient, and is -inf where
                 a row sees no key
    dropout_scale  "applied" or "asked", as the PyTorch function has it
    sinks        [heads], float32, float16 or bfloat16: a key more for each head, with this score, which
                 is not scaled, and the value zero. Each row sees it, and lse has it in

    All but q, k, v, sinks and seed is static under jit. Errors: ValueError, TypeError,
    UnsupportedError; what only the device knows is an error of JAX's when it runs.
    """
    if unknown:
        _arguments.refuse_unknown("attention", unknown, _NAMES)
    options = _options_of(causal, mask, dropout_p, scale, accumulator, deterministic, dropout_scale)
    _check_arrays(q, k, v)
    _check_sinks(sinks, q)
    _arguments.warn_of_layout(q.shape, k.shape)
    if q.size == 0 or k.shape[1] == 0:
        none = -jnp.inf if sinks is None else sinks.astype(jnp.float32)[:, None]
        lse = jnp.broadcast_to(jnp.asarray(none, jnp.float32), _lse_shape(q))
        out = jnp.zeros(q.shape, q.dtype)
        return (out, jax.lax.stop_gradient(lse)) if return_lse else out
    _library.require(_problem(q, k, options), _library.FORWARD)
    drops = options.dropout_p > 0
    if drops and seed is None:
        raise ValueError(f"dropout_p is {dropout_p}, and seed is None; allowed: a number or a key")
    out, lse = _attend(options, q, k, v, sinks, _words_of(seed) if drops else None)
    return (out, jax.lax.stop_gradient(lse)) if return_lse else out


def supports(q, k, v, *, causal=False, mask=None, dropout_p=0.0, scale=None, accumulator="fp32",
             dropout_scale="applied", sinks=None, **unknown):  # fmt: skip
    """(True, "") where attention() would run on a V100, with gradients; else (False, the reason)."""
    if unknown:
        _arguments.refuse_unknown("supports", unknown, _NAMES)
    try:
        options = _options_of(causal, mask, dropout_p, scale, accumulator, False, dropout_scale)
        _check_arrays(q, k, v)
        _check_sinks(sinks, q)
        reason = _library.why_unsupported_passes(_problem(q, k, options))
    except (TypeError, ValueError) as error:
        return False, str(error)
    return reason is None, reason or ""


# --- What arguments may be.


_NAMES = ("causal", "mask", "dropout_p", "seed", "scale", "accumulator", "deterministic",
          "return_lse", "dropout_scale", "sinks")  # fmt: skip


def _options_of(causal, mask, dropout_p, scale, accumulator, deterministic, dropout_scale):
    named = {"causal": causal, "mask": mask, "dropout_p": dropout_p, "scale": scale,
             "deterministic": deterministic}  # fmt: skip
    for name, value in named.items():
        if isinstance(value, jax.core.Tracer):
            raise TypeError(f"{name} is a traced array, and part of the kernel's call; allowed: a Python "
                            f"value, which jax.jit takes by static_argnames={name!r}")  # fmt: skip
    return _Options(
        _arguments.mask_of(causal, mask), _arguments.dropout_of(dropout_p),
        _library.dropout_scale_of(dropout_scale), _arguments.scale_of(scale),
        _library.accumulator_of(accumulator), _arguments.flag_of("deterministic", deterministic),
        _library.ALLOW_SLOW,
    )  # fmt: skip


def _check_arrays(q, k, v):
    for name, array in (("q", q), ("k", k), ("v", v)):
        if not hasattr(array, "ndim") or not hasattr(array, "dtype"):
            raise TypeError(f"{name} is a {type(array).__name__}; allowed: an array of JAX")
        if array.ndim != 4:
            raise ValueError(f"{name} has {array.ndim} dimensions; allowed: 4, [batch, seqlen, heads, "
                             "head_dim]")  # fmt: skip
        if array.dtype != jnp.float16:
            raise TypeError(f"{name} is {array.dtype}; allowed: float16, which is what a V100's tensor "
                            f"cores multiply: {name}.astype(jax.numpy.float16)")  # fmt: skip
    if k.shape != v.shape:
        raise ValueError(f"v has shape {v.shape}, and k {k.shape}: they are equal")
    if k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(f"k has shape {k.shape}, and q {q.shape}: batch and head_dim are equal")
    if k.shape[2] == 0 or q.shape[2] % k.shape[2] != 0:
        raise ValueError(_arguments.why_not_heads(q.shape, k.shape))


_SINK_DTYPES = ("float32", "float16", "bfloat16")


def _check_sinks(sinks, q):
    if sinks is None:
        return
    dtype = getattr(sinks, "dtype", type(sinks).__name__)
    if str(dtype) not in _SINK_DTYPES:
        raise TypeError(f"sinks is {dtype}; allowed: {', '.join(_SINK_DTYPES)}, or None")
    if sinks.shape != (q.shape[2],):
        raise ValueError(f"sinks has shape {sinks.shape}; allowed: ({q.shape[2]},), one of each head "
                         "of q")  # fmt: skip


def _problem(q, k, options):
    """As far as it can be known before there is a device: on the emulated V100."""
    batch, seqlen_q, heads, head_dim = q.shape
    return _library.problem(
        backend=_library.EMULATED, batch=batch, heads=heads, heads_k=k.shape[2], seqlen_q=seqlen_q,
        seqlen_k=k.shape[1], head_dim=head_dim, mask=options.mask.encode(),
        dropout_p=options.dropout_p, accumulator=options.accumulator,
    )  # fmt: skip


def _words_of(seed):
    """uint32 [2], the lower half first."""
    if isinstance(seed, (int, numpy.integer)):
        if not -(2**63) <= int(seed) < 2**64:
            raise ValueError(f"seed is {seed}; allowed: numbers of 64 bits")
        return jnp.array([int(seed) & 0xFFFFFFFF, (int(seed) >> 32) & 0xFFFFFFFF], jnp.uint32)
    seed = jnp.asarray(seed)
    if jnp.issubdtype(seed.dtype, jax.dtypes.prng_key) and seed.shape == ():
        return jax.random.bits(seed, (2,), jnp.uint32)
    if seed.dtype == jnp.uint32 and seed.shape == (2,):
        return seed
    if jnp.issubdtype(seed.dtype, jnp.integer) and seed.shape == ():
        # As of the whole number: that of a negative one goes on with ones.
        upper = seed >> 32 if seed.dtype.itemsize == 8 else jnp.where(seed < 0, -1, 0)
        return jnp.stack([seed, upper]).astype(jnp.uint32)
    raise TypeError(f"seed is {seed.dtype} of shape {seed.shape}; allowed: a whole number, uint32 of "
                    "shape (2,), or a key of jax.random")  # fmt: skip


# --- The custom calls and their derivative.


def _lse_shape(q):
    return (q.shape[0], q.shape[2], q.shape[1])


def _call(of_pass, results, options, arrays, seed):
    """Under vmap each array has the mapped axis in front; the handler takes it as a larger batch, or
    where there are seeds as calls of their own, so that each has the bits that it has alone."""
    call = jax.ffi.ffi_call(f"spark_attention_{of_pass}", results, vmap_method="broadcast_all")
    return call(
        *arrays, *(() if seed is None else (seed,)), mask=options.mask,
        dropout_p=numpy.float32(options.dropout_p),
        softmax_scale=numpy.float32(options.softmax_scale),
        dropout_scale=numpy.int32(options.dropout_scale),
        accumulator=numpy.int32(options.accumulator),
        deterministic=numpy.int32(options.deterministic),
        allow_slow=numpy.int32(options.allow_slow), generation=_library.GENERATION,
    )  # fmt: skip


def _unless(is_right, found, again):
    """What sums in FP16 gave, or where these did not hold again(), with sums in FP32."""
    return jax.lax.cond(is_right, lambda: tuple(found), lambda: tuple(again()))


def _are_in_fp16(options):
    return options.accumulator != _library.ACCUMULATORS["fp32"]


def _in_fp32(options):
    return options._replace(accumulator=_library.ACCUMULATORS["fp32"])


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(options, q, k, v, sinks, seed):
    results = (jax.ShapeDtypeStruct(q.shape, q.dtype),
               jax.ShapeDtypeStruct(_lse_shape(q), jnp.float32))  # fmt: skip
    out, lse = _call("forward", results, options, (q, k, v), seed)
    if _are_in_fp16(options):
        # How many rows of a pattern see no key is unknown: these are computed twice, and compared.
        empty = 0
        if not _masks.is_pattern(options.mask):
            of_head = _masks.empty_rows(options.mask, q.shape[1], k.shape[1])
            empty = q.shape[0] * q.shape[2] * of_head
        in_fp16 = out, lse
        is_right = jnp.isfinite(out).all() & (jnp.isfinite(lse).sum() == lse.size - empty)
        exact = _unless(is_right, in_fp16, lambda: _call(
            "forward", results, _in_fp32(options), (q, k, v), seed))  # fmt: skip
        is_right = jnp.isfinite(out).all() & (jnp.isfinite(lse) == jnp.isfinite(exact[1])).all()
        out, lse = (jnp.where(is_right, *both) for both in zip(in_fp16, exact))
    return (out, lse) if sinks is None else _with_sinks(out, lse, sinks)


def _with_sinks(out, lse, sinks):
    """As spark_attention/_sinks.py has it."""
    with_sinks = jnp.logaddexp(lse, sinks.astype(jnp.float32)[:, None])
    kept = jnp.where(lse == with_sinks, jnp.float32(1), jnp.exp(lse - with_sinks))
    return (out * kept.swapaxes(1, 2)[..., None]).astype(out.dtype), with_sinks


def _attend_forward(options, q, k, v, sinks, seed):
    _library.require(_problem(q, k, options), _library.BACKWARD)
    out, lse = _attend(options, q, k, v, sinks, seed)
    return (out, lse), (q, k, v, out, lse, sinks, seed)


def _attend_backward(options, saved, cotangents):
    gradients = _gradients(options, cotangents[0], *saved)
    seed = saved[-1]
    return (*gradients, None if seed is None else _no_gradient(seed))


_attend.defvjp(_attend_forward, _attend_backward)


def _no_gradient(seed):
    return numpy.zeros(seed.shape, jax.dtypes.float0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradients(options, d_o, q, k, v, out, lse, sinks, seed):
    results = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in (q, k, v))
    arrays = d_o, q, k, v, out, lse
    found = _call("backward", results, options, arrays, seed)
    if _are_in_fp16(options):
        lowest = _masks.lowest_lse(options.softmax_scale, k.shape[1], k.shape[3])
        is_right = ((lse >= lowest) | (lse == -jnp.inf)).all()
        for gradient in found:
            is_right &= jnp.isfinite(gradient).all()
        found = _unless(is_right, found, lambda: _call(
            "backward", results, _in_fp32(options), arrays, seed))  # fmt: skip
    return (*found, None if sinks is None else _sink_gradient(d_o, out, lse, sinks))


def _sink_gradient(d_o, out, lse, sinks):
    delta = (d_o.astype(jnp.float32) * out.astype(jnp.float32)).sum(-1).swapaxes(1, 2)
    scores = sinks.astype(jnp.float32)[:, None]
    weight = jnp.where(scores == -jnp.inf, jnp.float32(0), jnp.exp(scores - lse))
    return -(weight * delta).sum((0, 2)).astype(sinks.dtype)


def _no_second_derivative(options, *_):
    raise _library.UnsupportedError("the backward pass of attention has no derivative of its own")


_gradients.defvjp(_no_second_derivative, _no_second_derivative)
