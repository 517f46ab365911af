"""The problem that a kernel is asked to compute."""

import collections
import ctypes
import math

from . import _abi

DIRECTIONS = {_abi.FORWARD: "fwd", _abi.BACKWARD: "bwd", _abi.FORWARD_BACKWARD: "fwd+bwd"}


ACTIVATIONS = {_abi.GELU_TANH: "gelu-tanh", _abi.GELU_ERF: "gelu-erf", _abi.RELU: "relu"}


class Layer(collections.namedtuple("Layer", "hidden ffn activation norm bias rest")):
    """An encoder layer around the attention: its sizes; "gelu-tanh", "gelu-erf" or "relu"; "post" or
    "pre"; whether its products have biases; "fused" or "unfused", as --rest has it."""

    EPSILON = 1e-12  # of both LayerNorms

    @property
    def weights(self):
        """{name: shape}; matrices are [out, in]."""
        hidden, ffn = self.hidden, self.ffn
        shapes = {"w_qkv": (3 * hidden, hidden), "w_o": (hidden, hidden), "w_1": (ffn, hidden),
                  "w_2": (hidden, ffn), "b_qkv": (3 * hidden,), "b_1": (ffn,)}  # fmt: skip
        return {
            name: shapes.get(name, (hidden,))
            for name in _abi.WEIGHTS
            if self.bias or not name.startswith("b_")
        }


def layer_of(c):
    activation, norm = ACTIVATIONS[c.activation], "pre" if c.is_pre_norm else "post"
    rest = "fused" if c.rest_is_fused else "unfused"
    return Layer(c.hidden, c.ffn, activation, norm, bool(c.has_bias), rest)


class Sees:
    """Which keys a row sees. sees(head, q, k) answers for one pair of integers, which count from the
    sequence's first row and key; Problem.dense_mask() has all pairs."""

    def __init__(self, c_problem, rows, keys):
        self._sees, self._sees_keys = c_problem.sees, c_problem.sees_keys
        self._context = c_problem.mask_context
        self.seqlen_q, self.seqlen_k = rows, keys

    def follow(self, other):
        """Asks the memory of `other`, an equal one that lives longer."""
        self._sees, self._sees_keys, self._context = (
            other._sees, other._sees_keys, other._context
        )  # fmt: skip

    def __call__(self, head, q, k, sequence=0):
        return bool(self._sees(self._context, sequence, head, q, k))

    def bytes_of(self, heads):
        """bytearray of [heads, seqlen_q, seqlen_k]: 1 where the row sees the key."""
        rows, keys = self.seqlen_q, self.seqlen_k
        seen = bytearray(heads * rows * keys)
        whole = (ctypes.c_uint8 * len(seen)).from_buffer(seen)
        for row in range(heads * rows):
            head, q = divmod(row, rows)
            if self._sees_keys:
                first = ctypes.cast(
                    ctypes.addressof(whole) + row * keys, ctypes.POINTER(ctypes.c_uint8)
                )
                self._sees_keys(self._context, 0, head, q, first)
            else:
                for k in range(keys):
                    seen[row * keys + k] = self(head, q, k)
        return seen


class Problem:
    """What supports() and prepare() get. Row q stands at p = q + seqlen_k - seqlen_q.

    backend        "cuda" or "host"
    device         the CUDA device's number; None on the host
    sm             compute capability, 90; 0 on the host
    dtype          "float16" or "bfloat16": of all tensors but LSE, which is fp32
    direction      "fwd", "bwd" or "fwd+bwd"
    batch, heads, heads_k, seqlen_q, seqlen_k, head_dim, total_q, total_k
    softmax_scale, deterministic
    mask           "causal", "window:128", ...: its normal form
    mask_kind      "full", "causal", "window", "band", "prefix" or "pattern"
    window         (left, right): keys p - left to p + right, -1 is no bound; None for the last two
    causal         whether no row sees a key after its own
    prefix         keys below it are seen by all rows; 0 without a prefix
    mask_per_head  whether heads see different keys
    sees           sees(head, q, k, sequence=0) -> bool
    dropout_p, dropout_scale, seed, dropout_offset
    cu_seqlens_q, cu_seqlens_k      tuples of the host's integers; None without varlen
    layout         "bshd", "bhsd", "qkv-packed" or "k-bhsd": how tensors lie in memory, which q, k and v
                   have as strides; their shapes are the same
    layer          sparkbench.Layer; None for attention alone
    """

    def __init__(self, c_problem):
        c = _abi.known_part(c_problem)
        self.backend = "cuda" if c.backend == _abi.CUDA else "host"
        self.device = c.device if self.backend == "cuda" else None
        self.sm = c.sm
        self.dtype = {_abi.FP16: "float16", _abi.BF16: "bfloat16", _abi.FP32: "float32"}[c.dtype]
        self.direction = DIRECTIONS[getattr(c, "pass")]
        self.batch, self.heads, self.heads_k = c.batch, c.heads, c.heads_k
        self.seqlen_q, self.seqlen_k, self.head_dim = c.seqlen_q, c.seqlen_k, c.head_dim
        self.softmax_scale = c.softmax_scale
        self.deterministic = bool(c.deterministic)
        self.mask = (c.mask or b"full").decode()
        self.prefix = c.mask_prefix if c.mask_kind == _abi.PREFIX else 0
        self.mask_per_head = bool(c.mask_per_head)
        self.window = {_abi.FULL: (-1, -1), _abi.BAND: (c.mask_left, c.mask_right)}.get(c.mask_kind)
        self.mask_kind = self._kind(c.mask_kind)
        self.causal = self.window is not None and self.window[1] == 0
        self.dropout_p, self.dropout_scale = c.dropout_p, c.dropout_scale
        self.seed, self.dropout_offset = c.seed, c.dropout_offset
        self.total_q, self.total_k = c.total_q, c.total_k
        self.cu_seqlens_q = self.cu_seqlens_k = None
        if c.cu_seqlens_q:
            self.cu_seqlens_q = tuple(c.cu_seqlens_q[: c.batch + 1])
            self.cu_seqlens_k = tuple(c.cu_seqlens_k[: c.batch + 1])
        self.layout = ("bshd", "bhsd", "qkv-packed", "k-bhsd")[c.layout]
        self.layer = layer_of(c.layer.contents) if c.layer else None
        self.sees = Sees(c, self.seqlen_q, self.seqlen_k)

    def _kind(self, kind):
        if kind == _abi.PATTERN:
            return "pattern"
        if kind == _abi.PREFIX:
            return "prefix"
        return {(-1, -1): "full", (-1, 0): "causal"}.get(
            self.window, "window" if self.window[1] == 0 else "band"
        )

    @property
    def is_varlen(self):
        return self.cu_seqlens_q is not None

    @property
    def has_backward(self):
        return self.direction != "fwd"

    @property
    def has_default_scale(self):
        return math.isclose(self.softmax_scale, self.head_dim**-0.5, rel_tol=1e-6)

    @property
    def lengths(self):
        """[(seqlen_q, seqlen_k)] of all sequences."""
        if not self.is_varlen:
            return [(self.seqlen_q, self.seqlen_k)] * self.batch
        ends = (self.cu_seqlens_q, self.cu_seqlens_k)
        q, k = ([b - a for a, b in zip(cu, cu[1:])] for cu in ends)
        return list(zip(q, k))

    @property
    def q_shape(self):
        if self.is_varlen:
            return (self.total_q, self.heads, self.head_dim)
        return (self.batch, self.seqlen_q, self.heads, self.head_dim)

    @property
    def k_shape(self):
        if self.is_varlen:
            return (self.total_k, self.heads_k, self.head_dim)
        return (self.batch, self.seqlen_k, self.heads_k, self.head_dim)

    @property
    def x_shape(self):
        """Of a layer's input."""
        return (self.batch, self.seqlen_q, self.layer.hidden)

    @property
    def lse_shape(self):
        if self.is_varlen:
            return (self.heads, self.total_q)
        return (self.batch, self.heads, self.seqlen_q)

    def visible(self, q, k):
        """Whether row q sees key k; of integers, or of arrays that broadcast. Not for a pattern."""
        if self.mask_kind == "pattern":
            raise NotImplementedError("a pattern is no formula: dense_mask() has its pairs")
        p = q + (self.seqlen_k - self.seqlen_q)
        if self.mask_kind == "prefix":
            return (k <= p) | (k < self.prefix)
        left, right = self.window
        seen = (q == q) & (k == k)
        if left >= 0:
            seen = seen & (p - k <= left)
        if right >= 0:
            seen = seen & (k - p <= right)
        return seen

    def dense_mask(self, torch=None):
        """Booleans [1 or heads, seqlen_q, seqlen_k], True where a row sees a key: a NumPy array, or
        a tensor on the problem's device if `torch` is given."""
        if self.is_varlen:
            raise NotImplementedError("varlen sequences have a mask each")
        heads = self.heads if self.mask_per_head else 1
        if torch is not None:
            device = "cpu" if self.backend == "host" else f"cuda:{self.device}"
            if self.mask_kind != "pattern":
                rows = torch.arange(self.seqlen_q, device=device)[:, None]
                return self.visible(rows, torch.arange(self.seqlen_k, device=device)[None])[None]
            seen = torch.frombuffer(self.sees.bytes_of(heads), dtype=torch.uint8).to(device)
            return seen.view(heads, self.seqlen_q, self.seqlen_k).bool()
        import numpy

        if self.mask_kind != "pattern":
            rows = numpy.arange(self.seqlen_q)[:, None]
            return self.visible(rows, numpy.arange(self.seqlen_k)[None])[None]
        seen = numpy.frombuffer(self.sees.bytes_of(heads), dtype=numpy.bool_)
        return seen.reshape(heads, self.seqlen_q, self.seqlen_k)

    def has_blind_rows(self):
        """Whether a row sees no key."""
        if self.is_varlen:
            return any(
                q > 0 and (k == 0 or (self.causal and q > k)) for q, k in self.lengths
            )
        if self.mask_kind == "pattern":
            heads = self.heads if self.mask_per_head else 1
            seen, keys = self.sees.bytes_of(heads), self.seqlen_k
            return any(1 not in seen[i : i + keys] for i in range(0, len(seen), keys))
        if self.mask_kind == "prefix":
            return self.prefix == 0 and self.seqlen_q > self.seqlen_k
        right = self.window[1]
        return right >= 0 and self.seqlen_k - self.seqlen_q + right < 0
