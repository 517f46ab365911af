"""What the tests over JAX share: JAX itself or exit status 77, inputs, and the definition."""

import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy

    jax.ffi.ffi_call  # 0.5 has it
except (ImportError, AttributeError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

jax.config.update("jax_enable_x64", True)  # for the definition

UNION = "window:7+causal-strided:5"


def random(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32).astype(jnp.float16)


def inputs(seqlen_q=37, seqlen_k=50, heads=4, heads_k=2, head_dim=64, batch=2):
    """q, k, v and d_out."""
    queries, keys = (batch, seqlen_q, heads, head_dim), (batch, seqlen_k, heads_k, head_dim)
    return random(1, *queries), random(2, *keys), random(3, *keys), random(4, *queries)


def visible(mask, seqlen_q, seqlen_k):
    """By the words of the library's header; with "+" what any of them shows."""
    if "+" in mask:
        return numpy.any([visible(part, seqlen_q, seqlen_k) for part in mask.split("+")], axis=0)
    p = numpy.arange(seqlen_q)[:, None] + seqlen_k - seqlen_q
    key = numpy.arange(seqlen_k)[None, :]
    name, *numbers = mask.split(":")
    n = [int(number) for number in numbers]
    return {
        "full": lambda: key >= 0 * p,
        "causal": lambda: key <= p,
        "window": lambda: (key <= p) & (key > p - n[0]),
        "causal-strided": lambda: (key <= p) & ((p - key) % n[0] == 0),
    }[name]()


def definition(q, k, v, mask="full", scale=None, keep=1.0):
    """(out, lse) in the type of its inputs, where each row sees a key."""
    group = q.shape[2] // k.shape[2]
    k, v = (jnp.repeat(array, group, axis=2) for array in (k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.dtype.type(scale or q.shape[3] ** -0.5)
    scores = jnp.where(visible(mask, q.shape[1], k.shape[1]), scores, -jnp.inf)
    p = jax.nn.softmax(scores, axis=-1) * jnp.asarray(keep, q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", p, v), jax.nn.logsumexp(scores, axis=-1)


def with_gradients(function, arrays, d_out):
    """[out, *gradients] of the function of the arrays."""
    out, of = jax.vjp(function, *arrays)
    return [out, *of(d_out.astype(out.dtype))]


def max_error(got, want):
    return float(jnp.abs(got.astype(jnp.float64) - want.astype(jnp.float64)).max())


def assert_same(got, want):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        numpy.testing.assert_array_equal(a, b)


def passes_of(arrays, d_out, mask="full", keep=1.0, scale=None):
    """with_gradients() of the definition in fp64, and in fp16."""
    return [with_gradients(lambda *t: definition(*(x.astype(dtype) for x in t), mask, scale, keep)[0],
                           arrays, d_out) for dtype in (jnp.float64, jnp.float16)]  # fmt: skip
